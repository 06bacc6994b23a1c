import { filesBelow } from './source-files.ts';

/** A change of the sources that breaks a rule, and the tests that must notice. */
export interface Mutation {
  /** a text that stands once in all of them, and what it becomes */
  readonly change: readonly [original: string, mutant: string];
  /** a file of tests, and what the names of some of them have: `FILE: WORDS`; all its tests without words */
  readonly noticedBy: string;
}

const sources = ['src', 'deploy'].flatMap((folder) => filesBelow(folder, ''));

/** The path of each place at which the text stands that a mutation changes: one, if it can be done. */
export function placesOf({ change: [original] }: Mutation): readonly string[] {
  const numberIn = (text: string) => text.split(original).length - 1;
  return sources.flatMap(({ path, text }) => Array<string>(numberIn(text)).fill(path));
}

/** For each promise of the kit, how it could be broken. Numbers are those of "What must not be got wrong" in the design. */
export const mutations: Readonly<Record<string, Mutation>> = {
  // 1. What was acknowledged is never lost.
  'never lost: the ack waits for the commit': {
    change: [
      'const recorded = await record(',
      `const recorded = { status: 'accepted', id: 'x' } as never;
    void record(`,
    ],
    noticedBy: 'test/receiver/answers.test.ts: acknowledges it once its commit is on disk',
  },
  'never lost: acks commit with synchronous FULL (13)': {
    change: ['const relaxed: readonly Operation[] = [', "const relaxed: readonly Operation[] = ['record', "],
    noticedBy: 'test/store/durability.test.ts: waits for the disk',
  },
  'never lost: a commit that fails is undone whole': {
    change: ["db.all('ROLLBACK')", "db.all('COMMIT')"],
    noticedBy: 'test/store/record-and-claim.test.ts: refuses one settlement that no column takes',
  },
  'never lost: one bad request spoils no other, it is run again alone (8)': {
    change: ['if (batch.length > 1 && !isUnavailable(error)) {', 'if (batch.length === 0) {'],
    noticedBy: 'test/store/record-and-claim.test.ts: refuses one request that no column takes',
  },
  'never lost: NUL and half surrogate pairs never reach a column of PostgreSQL (8)': {
    change: ["value.toWellFormed().replaceAll('\\0', '\\uFFFD')", 'value'],
    noticedBy: 'test/store/record-and-claim.test.ts: takes a text with NUL and half surrogate pairs',
  },
  'never lost: a transaction that the server ends for a deadlock is tried again (2)': {
    change: ["['40P01', '40001', '55P03'].includes(", "['40001', '55P03'].includes("],
    noticedBy: 'test/store/interleavings.test.ts: tries again, when the server ends one of two',
  },
  'never lost: an ack whose wait for a synchronous standby was cut off is none': {
    change: ['if (warning !== undefined) throw new Error(warning);', ''],
    noticedBy: 'test/store/interleavings.test.ts: is none, when the server warns of its commit',
  },
  'never lost: a stop serves on for DRAIN_MS before it refuses': {
    change: ["phase = 'draining';", "phase = 'closed';"],
    noticedBy: 'test/receiver/service.test.ts: a stop serves on for DRAIN_MS',
  },
  'never lost: a service that is draining says so to a balancer': {
    change: ["phase() !== 'open'", "phase() === 'closed'"],
    noticedBy: 'test/receiver/answers.test.ts: the service drains',
  },
  'never lost: a notification that no known secret explains is kept in quarantine': {
    change: ['if (unverified?.isUnexplained) quarantine.add({ token, body: unverified.body }, address);', ''],
    noticedBy: 'test/receiver/quarantine.test.ts: is kept, when no known secret explains its signature',
  },
  'never lost: what waits in quarantine is admitted once its secret is stored': {
    change: ['keys.every((key) => tried.get(webhook)?.includes(key))', 'tried.size > 0'],
    noticedBy: 'test/receiver/service.test.ts: is admitted and handled',
  },
  'never lost: in a full quarantine the network or webhook that holds most gives way': {
    change: ['share.bytes >= twentieth', 'share.bytes > maxBytes'],
    noticedBy: 'test/store/quarantine.test.ts: that has most',
  },
  'never lost: a tenth of the quarantine is for webhooks that have a stored secret': {
    change: ['held.ours <= maxBytes / 10', 'held.ours < 0'],
    noticedBy: 'test/store/quarantine.test.ts: leaves a tenth of the room',
  },
  'an ack never waits: room in the quarantine is made in steps, between which acks commit': {
    change: ['{ ...share, before, limit: STEP }', '{ ...share, before, limit: 1e6 }'],
    noticedBy: 'test/store/quarantine.test.ts: records acks, while room is made',
  },
  'never lost: what retention empties keeps its identity, so that a repeat is a duplicate': {
    change: [`\`UPDATE events SET body = NULL \${bySeq.from}`, `\`DELETE FROM events \${bySeq.using}`],
    noticedBy: 'test/store/operators.test.ts: empties what ended before a time',
  },
  'never lost: a database of which everything was moved is refused': {
    change: ['await source.setVersion(MOVED);', ''],
    noticedBy: 'test/cli/move.test.ts: every command refuses the former one',
  },
  'never lost: a database of a newer version is refused': {
    change: ['if (version > VERSION)', 'if (version > 99 * VERSION)'],
    noticedBy: 'test/scenarios/refused-starts.test.ts: when the database is of a newer version',
  },
  'never lost: a migration that was released stays as it is': {
    change: ['CREATE TABLE steps (event bigint NOT NULL,', 'CREATE TABLE steps (event bigint,'],
    noticedBy: 'test/releases/releases.test.ts: the released migration',
  },
  'never lost: a database that began before 1.0 is refused, whatever its version': {
    change: ['return version > 0 && !isOfThis ? BEFORE_1_0 : version;', 'return version;'],
    noticedBy: 'test/releases/releases.test.ts: is refused for good',
  },
  'never lost: a reader of the cursor goes no further than the slowest writer (14)': {
    change: ['return Math.min(seq, lowest?.seq ?? Number.POSITIVE_INFINITY);', 'return seq;'],
    noticedBy: 'test/store/interleavings.test.ts: skips nothing that commits late',
  },
  'never lost: a reader is told that its cursor is of another database': {
    change: [' && found.receivedAt === receivedAt', ''],
    noticedBy: 'test/inspector/live.test.ts: with 410',
  },
  'never lost: hookkit listen goes on after what was taken, and never after what was not': {
    change: ['if (to && !sent) return;', ''],
    noticedBy: 'test/cli/listen.test.ts: sends again what is not taken',
  },
  // 2. Nothing unverified is ever handled.
  'nothing unverified: the claims equal the body exactly': {
    change: ['const path = firstDifference(parseBody(claims).value, value);', 'const path = undefined;'],
    noticedBy: 'test/hardening/forgeries.test.ts: rightly signed claims',
  },
  'nothing unverified: claims of the same bytes are the body': {
    change: ['if (claims.equals(Buffer.from(text)))', 'if (claims.length === Buffer.byteLength(text))'],
    noticedBy: 'test/hardening/forgeries.test.ts: rightly signed claims',
  },
  'nothing unverified: jsonwebtoken decides on every token that is accepted': {
    change: [
      '// Times are claims like any other here',
      `if (!claimsRefusal(token, body) && !headerRefusal(token)) return undefined;
    //`,
    ],
    noticedBy: 'test/notification/notification.test.ts: that jsonwebtoken refuses',
  },
  'nothing unverified: HS256 alone': {
    change: ['jsonwebtoken.verify(token, signer, {', 'jsonwebtoken.decode(token, {'],
    noticedBy: 'test/hardening/forgeries.test.ts: an algorithm',
  },
  'nothing unverified: a token with crit is refused': {
    change: ["return 'crit' in header ?", 'return header === undefined ?'],
    noticedBy: 'test/hardening/forgeries.test.ts: crit, rightly signed',
  },
  'nothing unverified: the keys are those of the webhook that the body names': {
    change: ['const held = stored.get(webhookId);', 'const held = [...stored.values()].flat();'],
    noticedBy: 'test/hardening/forgeries.test.ts: of another webhook',
  },
  'nothing unverified: a retired secret verifies nothing from its time on': {
    change: ['POSITIVE_INFINITY }) => retireAt > now', 'POSITIVE_INFINITY }) => retireAt > 0 * now'],
    noticedBy: 'test/receiver/secrets.test.ts: verify nothing from their time on',
  },
  'nothing unverified: WEBHOOK_SECRET serves no webhook that ever had a stored secret': {
    change: ['if (!held) return', 'if (!held?.some(({ retireAt }) => retireAt === undefined)) return'],
    noticedBy: 'test/receiver/secrets.test.ts: from its first stored secret on',
  },
  'nothing unverified: the quarantine admits only what a known secret verifies': {
    change: ['return !refusal && (await', 'return (await'],
    noticedBy: 'test/receiver/quarantine.test.ts: stays, when the stored secret does not verify it',
  },
  'nothing unverified: a sealed secret opens only in its row': {
    change: ['webhookId, fingerprint, retireAt ?? null', 'fingerprint'],
    noticedBy: 'test/store/operators.test.ts: open only in their own row',
  },
  'nothing unverified: rekey leaves nothing that the former key opens': {
    change: ['await engine.compact();', ''],
    noticedBy: 'test/scenarios/secrets-at-rest.test.ts: is in none of the files',
  },
  'rotation loses no answer: before a refusal the secrets are looked at once more': {
    change: ['await keyring.refresh(); //', '//'],
    noticedBy: 'test/receiver/secrets.test.ts: verify the very next notification',
  },
  'a body that is nested deeper than 64 is refused': {
    change: ['const MOST_LEVELS = 64;', 'const MOST_LEVELS = 6400;'],
    noticedBy: 'test/receiver/answers.test.ts: nested deeper than 64 levels',
  },
  'an event is what happened, not which webhook told it': {
    change: ['const { webhook_id: _, ...event } = body;', 'const event = body;'],
    noticedBy: 'test/receiver/acceptance.test.ts: is a duplicate, when another webhook',
  },
  // 3. Every acknowledged event is handled at least once, never two of one resource at once, and its handler can tell a repeat.
  'at least once: an ack updates the lane of its event, also while that is being closed (3)': {
    change: [
      'DO UPDATE SET over_limit = 0, ready_at =\n    CASE WHEN excluded.ready_at < lanes.ready_at THEN excluded.ready_at ELSE lanes.ready_at END`',
      'DO NOTHING`',
    ],
    noticedBy: 'test/store/interleavings.test.ts: record waits for whoever closes the lane',
  },
  'at least once: settle locks lanes before it reads what decides (1)': {
    change: [' lockLanes(d);\n  const', " lockLanes(d).replace('FOR UPDATE', '');\n  const"],
    noticedBy: 'test/store/interleavings.test.ts: settle changes nothing',
  },
  'at least once: wake repeats the condition by which it chose (1)': {
    change: ['AND coalesce(next_at, 0) BETWEEN 1 AND CASE', 'AND 0 <> CASE'],
    noticedBy: 'test/store/interleavings.test.ts: wake looks again whether an event is due',
  },
  'at least once: two batches of lanes lock them in one order (2)': {
    change: ["lastOfEach(inOrder(rows, 'readyAt').toReversed())", 'rows'],
    noticedBy: 'test/store/interleavings.test.ts: records of the same resources in another order',
  },
  'at least once: ready events without a lane get one (3)': {
    change: ['await open(db, strays, step.subscriber);', ''],
    noticedBy: 'test/store/record-and-claim.test.ts: opens a lane for whatever is ready and has none',
  },
  'at least once: a wait that is over is woken': {
    change: [`next_at <= \${d.now} AND crashes < 2`, `next_at > \${d.now} AND crashes < 2`],
    noticedBy: 'test/store/model.test.ts',
  },
  'at least once: a lease that ran out gives its event to another process': {
    change: [`until < \${d.now} AND`, `until < 0 * \${d.now} AND`],
    noticedBy: 'test/dispatch/leases.test.ts: of a process that was killed runs out',
  },
  'never two at once: a process recovers no lease that it holds (5)': {
    change: [` AND NOT \${d.among('lease', 'held')}`, ''],
    noticedBy: 'test/store/record-and-claim.test.ts: recovers no lease',
  },
  'never two at once: leases of others are spared after a stall (5)': {
    change: ['if (now - this.#pollAt > renewalMs(config.LEASE_MS)) this.#spareOthers();', ''],
    noticedBy: 'test/dispatch/leases.test.ts: for a renewal interval after a stall',
  },
  'never two at once: a leased lane is given to nobody else': {
    change: ['WHERE subscriber = $subscriber AND lease IS NULL AND', 'WHERE subscriber = $subscriber AND'],
    noticedBy: 'test/store/model.test.ts',
  },
  'never two at once: only the lease of an attempt stores its results (4)': {
    change: ['const key = byLease.get(lane.lease);', 'const key = keys.find(({ seq }) => seq === lane.seq);'],
    noticedBy: 'test/store/interleavings.test.ts: settle changes nothing',
  },
  'never two at once: a lease is named by this start of the process (4)': {
    change: ['lease: randomUUID()', 'lease: String(lanes.indexOf(lane))'],
    noticedBy: 'test/store/model.test.ts',
  },
  'never two at once: a lease is renewed as long as its handler runs, also one that ignores its abort (4)': {
    change: [
      '({ leasedAt }) => leasedAt <= now - renewalMs(leaseMs)',
      '({ leasedAt, abort }) => leasedAt <= now - renewalMs(leaseMs) && !abort.signal.aborted',
    ],
    noticedBy: 'test/dispatch/leases.test.ts: keeps its media until it has ended, when it ignores its signal',
  },
  'never two at once: a handler is aborted before its lease runs out (5)': {
    change: ['if (leased.leasedAt <= before) giveUp(', 'if (leased.leasedAt <= before - leaseMs) giveUp('],
    noticedBy: 'test/dispatch/leases.test.ts: that cannot be renewed',
  },
  'a repeat can be told: a settlement that is sent twice counts once (4)': {
    change: ['leases.has(lease) || before.has(lease),', 'leases.has(lease),'],
    noticedBy: 'test/store/model.test.ts',
  },
  'a repeat can be told: a step that was done does not run again': {
    change: ['if (known?.done) return known.done.result;', ''],
    noticedBy: 'test/dispatch/once.test.ts: runs its step once',
  },
  'limits: no more handlers of a kind begin than there is room for': {
    change: ['const rest = inOrder(own,', 'const rest = inOrder([] as typeof own,'],
    noticedBy: 'test/store/record-and-claim.test.ts: as many as there is room for',
  },
  'limits: a quarter of their places goes to the newest': {
    change: ['return { room, newest };', 'return { room, newest: places.kinds ? 0 : newest };'],
    noticedBy: 'test/testing/test-receiver.test.ts: a backlog of its limit',
  },
  'tests of handlers: what is delivered comes to each subscriber before all is handled': {
    change: ['(await this.#life.begun).dispatcher.wake();\n      this.#life.clock', 'this.#life.clock'],
    noticedBy: 'test/testing/test-receiver.test.ts: each subscriber handles what is delivered',
  },
  'tests of handlers: settled makes no tick': {
    change: ['isTicking: () => this.now() <= this.#ticksUntil', 'isTicking: () => true'],
    noticedBy: 'test/testing/reminders.test.ts: ticks come by advance',
  },
  'tests of handlers: a failure in a history is one of each subscriber': {
    change: ["act: (kit) => kit.failNext('all')", 'act: (kit) => kit.failNext()'],
    noticedBy: 'test/testing/test-receiver.test.ts: one subscriber that takes a failure',
  },
  'checks of recordings: a subscriber that is missing is a difference': {
    change: ['ends.has(id) || expects[name] ?', 'ends.has(id) ?'],
    noticedBy: 'test/cli/events/check.test.ts: is missing or is one more',
  },
  'checks of recordings: handlers see the time of the recording': {
    change: ['timeScope.run(isCheck ? timers : undefined,', 'timeScope.run(isCheck ? undefined : undefined,'],
    noticedBy: 'test/cli/events/check.test.ts: shows handlers the time',
  },
  'checks of recordings: a timer does not end a request that another system still answers': {
    change: ['const isNext = await isAtRest(1);', 'const isNext = (await isAtRest(1)) || true;'],
    noticedBy: 'test/cli/events/check.test.ts: shows handlers the time',
  },
  'checks of recordings: a handler that never ends fails its line, whatever that expects': {
    change: ['end === NO_EVENT || isUnended ?', 'end === NO_EVENT ?'],
    noticedBy: 'test/cli/events/check.test.ts: never ends, also in a step',
  },
  'limits: what is over them holds up nothing behind it': {
    change: ['overLimit: index + 1 }', 'overLimit: 0 }'],
    noticedBy: 'test/store/record-and-claim.test.ts: sets the others aside',
  },
  'an event that crashes have made dead is told to onDead, too': {
    change: ['for (const event of dead) this.#tellDead(event);', ''],
    noticedBy: 'test/dispatch/retries.test.ts: lost to five crashes',
  },
  'a repeat can be told: a name of a step is used once in a run': {
    change: ['if (called.has(step)) throw new Error(calledTwice(step));', ''],
    noticedBy: 'test/dispatch/once.test.ts: the step is under way or done',
  },
  'a repeat can be told: a step is stored only under its lease (4)': {
    change: ['if ((await heldOf(db, [lease], lease)).length > 0) ', ''],
    noticedBy: 'test/store/interleavings.test.ts: a step is not stored',
  },
  'a repeat can be told: ctx.state is stored with a retry as well': {
    change: ["{ outcome: 'retry', ...left, counts: false }", "{ outcome: 'retry', counts: false }"],
    noticedBy: 'test/dispatch/retries.test.ts: what a handler sets in ctx.state',
  },
  'a repeat can be told: late is decided with the first start and stays (12)': {
    change: ['`coalesce(events.late, CASE WHEN', '`coalesce(NULL, CASE WHEN'],
    noticedBy: 'test/store/record-and-claim.test.ts: decides with the first start',
  },
  'a repeat can be told: late goes by handled_at, which a replay does not clear (12)': {
    change: ['AND o.handled_at IS NOT NULL AND', "AND o.status = 'handled' AND"],
    noticedBy: 'test/store/record-and-claim.test.ts: decides with the first start',
  },
  'poison: an event that was lost to five crashes is dead (10)': {
    change: ['const MOST_CRASHES = 5;', 'const MOST_CRASHES = 500;'],
    noticedBy: 'test/dispatch/retries.test.ts: lost to five crashes',
  },
  'poison: what was lost twice runs as the only such one (10)': {
    change: ['ORDER BY next_at LIMIT 1`', 'ORDER BY next_at LIMIT 100`'],
    noticedBy: 'test/store/subscribers.test.ts: lost twice beside that of another',
  },
  'poison: what was lost twice runs beside none of another subscriber (10)': {
    change: [
      'const readySuspect = `SELECT seq, subscriber, resource FROM events WHERE ',
      'const readySuspect = `SELECT seq, subscriber, resource FROM events WHERE subscriber = $subscriber AND ',
    ],
    noticedBy: 'test/store/subscribers.test.ts: lost twice beside that of another',
  },
  'poison: nothing is leased ahead, so that a crash takes nothing along that never started (4)': {
    change: ['most: config.DISPATCH_CONCURRENCY,', 'most: config.DISPATCH_CONCURRENCY * 2,'],
    noticedBy: 'test/dispatch/claims.test.ts: nothing is leased ahead',
  },
  'retries: an event whose handler another instance has uses up no attempt': {
    change: ['afterMs, counts: false };', 'afterMs, counts: true };'],
    noticedBy: 'test/dispatch/elsewhere.test.ts: is handled there, uses up no attempt',
  },
  'retries: an event waits ten minutes at most for another instance': {
    change: ['clock.now() - since >= ELSEWHERE_MOST_MS', 'clock.now() - since >= 2 * ELSEWHERE_MOST_MS'],
    noticedBy: 'test/dispatch/elsewhere.test.ts: is skipped after ten minutes',
  },
  'retries: instances that poll at one pace do not keep an event from the one that has its handler': {
    change: ['0.9 + policy.random() / 5', '1'],
    noticedBy: 'test/dispatch/elsewhere.test.ts: no event misses the one instance',
  },
  'order: what no handler ran for is not decided to be in time (12)': {
    change: ["one.outcome === 'elsewhere' ? undefined : (one.late ?? 0)", 'one.late ?? 0'],
    noticedBy: 'test/dispatch/elsewhere.test.ts: is late if a newer one was handled',
  },
  'retries: an orderly stop uses up no attempt': {
    change: ["outcome: 'interrupted', counts: false", "outcome: 'interrupted', counts: true"],
    noticedBy: 'test/dispatch/leases.test.ts: no attempt is used up',
  },
  'retries: they go on for about 21 hours': {
    change: ['config.RETRY_BASE_MS * 2 ** (attempt - 1)', 'config.RETRY_BASE_MS * attempt'],
    noticedBy: 'test/dispatch/retries.test.ts: is dead after RETRY_MAX_ATTEMPTS',
  },
  'retries: retry() uses up no attempt': {
    change: ["{ outcome: 'retry', ...left, counts: false }", "{ outcome: 'retry', ...left, counts: true }"],
    noticedBy: 'test/dispatch/retries.test.ts: uses up no attempt, but counts as a start',
  },
  'bulk verbs: no event of a replay is ready before all are reset (7)': {
    change: ['chosen, heldBy })', 'chosen, heldBy }).finally(() => calls.release({ ...chosen, heldBy }))'],
    noticedBy: 'test/store/operators.test.ts: holds all events until the last is reset',
  },
  'bulk verbs: what a replay left is released by event time (7)': {
    change: ['ORDER BY held_by, next_at, event_time, seq LIMIT', 'ORDER BY held_by, seq LIMIT'],
    noticedBy: 'test/store/operators.test.ts: is finished by another process after an hour, by event time',
  },
  'bulk verbs: a replay leaves out what a lane runs (7)': {
    change: ['.filter(({ seq }) => !running.has(seq));', ';'],
    noticedBy: 'test/store/interleavings.test.ts: replay leaves out what began to run',
  },
  'bulk verbs: the status that a filter asks for is looked at again by the statement that writes (1, 7)': {
    change: ["'coalesce($still, events.status) IN (events.status, events.waiting)'", "'true'"],
    noticedBy: 'test/store/interleavings.test.ts: replay leaves out what began to run',
  },
  'bulk verbs: what was handled is not dismissed': {
    change: ["AND events.status IN ('pending', 'dead')", ''],
    noticedBy: 'test/store/operators.test.ts: ends what is pending or dead',
  },
  'a pause: no process starts anything': {
    change: [`"(SELECT name FROM meta WHERE name = 'paused') IS NULL"`, "'true'"],
    noticedBy: 'test/store/operators.test.ts: keeps every process from starting anything',
  },
  // 4. An ack never waits for a handler, nor one resource or process for another.
  'an ack never waits for a handler': {
    change: [
      'createReceiver({ ...parts, keyring, quarantine, phase: () => phase, around });',
      `createReceiver({ ...parts, keyring, quarantine, phase: () => phase, around, store: {
      ...store, queue: { ...store.queue, async record(given) {
        const recorded = await store.queue.record(given);
        while ((await store.queue.event(recorded))?.status !== 'handled') await pause(clock, 10);
        return recorded;
      } } } });`,
    ],
    noticedBy: 'test/inspector/attention.test.ts: how many places handlers hold',
  },
  'fairness: a new event of a free resource passes a backlog': {
    change: ['const NEWEST = 1 / 4;', 'const NEWEST = 0;'],
    noticedBy: 'test/dispatch/claims.test.ts: a new event is handled within about a second behind',
  },
  'fairness: a quarter of one free slot is every fourth claim (11)': {
    change: ['(places.taken + room) * NEWEST) - Math.floor(places.taken * NEWEST)', 'room * NEWEST)'],
    noticedBy: 'test/dispatch/claims.test.ts: every fourth event is the newest',
  },
  'fairness: a lane waits since its ready event was received, whoever opens it (11)': {
    change: [`ready_at = \${firstReady('received_at')}`, 'ready_at = ready_at'],
    noticedBy: 'test/store/record-and-claim.test.ts: counts the waiting of a lane',
  },
  'fairness: a claim that found as many as it asked for is followed by another': {
    change: ['this.#isClaimWanted ||= hasMore;', ''],
    noticedBy: 'test/dispatch/claims.test.ts: every fourth event is the newest',
  },
  'a frozen neighbour gives up its locks after five seconds (6)': {
    change: ["idle_in_transaction_session_timeout = '5s';", 'idle_in_transaction_session_timeout = 0;'],
    noticedBy: 'test/store/interleavings.test.ts: each is ended by the server, when its process stands still',
  },
  'no statement of the hot path goes through what an old snapshot keeps (9)': {
    change: [`ANY (ARRAY(SELECT r.\${member} FROM \${rows})) AND \${column} = r.\${member}`, `r.\${member}`],
    noticedBy: 'test/store/plans.test.ts',
  },
  'a program goes on where a later one has added columns': {
    change: ['SELECT seq, at, what, filters, who, changed FROM audit', 'SELECT * FROM audit'],
    noticedBy: 'test/releases/releases.test.ts: still serves a program that runs',
  },
  'starting beside others waits for nobody (15)': {
    change: ['if (version === VERSION) return; //', '//'],
    noticedBy: 'test/store/opening-postgres.test.ts: changes nothing, when the version is current',
  },
  // 5. An unverified request costs less than a verified one, and connections, bodies and failures are bounded.
  'bounded: a token that no live key has signed costs its HMAC and not jsonwebtoken': {
    change: [' && timingSafeEqual(given, right)', ''],
    noticedBy: 'test/notification/notification.test.ts: signed by another',
  },
  'bounded: a source that failed too often gets 429': {
    change: ['failures(source) > config.REJECT_LIMIT', 'failures(source) > config.REJECT_LIMIT * 1000'],
    noticedBy: 'test/receiver/throttling.test.ts: gets 429 and Retry-After',
  },
  'bounded: what verifies is never throttled': {
    change: [
      'const verdict = await judge(',
      `res.app.locals.sent = (res.app.locals.sent ?? 0) + 1;
    if (res.app.locals.sent > config.REJECT_LIMIT) return refuse(res, THROTTLED);
    const verdict = await judge(`,
    ],
    noticedBy: 'test/receiver/throttling.test.ts: is never throttled in what verifies',
  },
  'bounded: a source is an address without its port, IPv6 by /56': {
    change: ['(v4 ?? v6 ?? address).replace', 'address.replace'],
    noticedBy: 'test/receiver/throttling.test.ts: when they differ by the port',
  },
  'bounded: no more acks wait than may': {
    change: ['acks.waiting() >= config.MAX_WAITING_ACKS', 'false'],
    noticedBy: 'test/receiver/answers.test.ts: when as many wait as may',
  },
  'bounded: a connection has one request under way': {
    change: ['if (!first) {', 'if (!first || first) {'],
    noticedBy: 'test/base/listening-and-posting.test.ts: is answered once and closed',
  },
  'bounded: no token is ever in a line of the log': {
    change: ['...refusal, kind, webhook }', '...refusal, kind, webhook, token: exchange.token }'],
    noticedBy: 'test/receiver/logging.test.ts: has no token, secret, Authorization',
  },
  'bounded: what strangers sent is cut before it is logged, kept or shown': {
    change: ['text.slice(0, longest)', 'text.slice(0, 100 * longest)'],
    noticedBy: 'test/receiver/logging.test.ts: at most 200 characters of what a stranger sent',
  },
  'bounded: a stalled log never fills the memory': {
    change: ['const MOST_HELD = 8 * 1024 * 1024;', 'const MOST_HELD = 8 * 1024 ** 4;'],
    noticedBy: 'test/base/log.test.ts: with the number of those dropped in the gap',
  },
  'alerts: one process of all posts, by its lease': {
    change: ['if (held.by !== by && (!isFree || alerts))', 'if (held.by !== by && alerts)'],
    noticedBy: 'test/inspector/alerts.test.ts: one process of two posts',
  },
  'alerts: what a process posted that has lost the lease is not stored': {
    change: ['(!isFree || alerts)', '!isFree'],
    noticedBy: 'test/store/operators.test.ts: give the lease of alerts',
  },
  'alerts: a fault is the same whatever its numbers say': {
    change: [
      "const idOf = ({ fault, of = '' }: Found) => JSON.stringify([fault, of]);",
      "const idOf = ({ fault, of = '', text }: Found) => JSON.stringify([fault, of, text]);",
    ],
    noticedBy: 'test/inspector/alerts.test.ts: whose numbers change',
  },
  'alerts: a redirect is not followed, so that nobody else gets them': {
    change: ["),\n      redirect: 'manual',", '),'],
    noticedBy: 'test/inspector/alerts.test.ts: refused or redirected',
  },
  'bounded: a token that reads changes nothing': {
    change: ["if (right === 'change' || isReading)", 'if (right || isReading)'],
    noticedBy: 'test/inspector/sign-in.test.ts: changes nothing',
  },
  // 6. What is said of it is true.
  'told: what fails at a site is grave after two minutes': {
    change: ['grave: age > FAILING_MS', 'grave: true'],
    noticedBy: 'test/inspector/attention.test.ts: grave after two minutes',
  },
  'told: each site that fails is a fault of its own': {
    change: ['failure(known, of, of ?', "failure(known, '', of ?"],
    noticedBy: 'test/inspector/attention.test.ts: says of three sites',
  },
  'told: a webhook whose requests are all refused is grave at the tenth in a row': {
    change: ['const MANY_IN_A_ROW = 10;', 'const MANY_IN_A_ROW = 11;'],
    noticedBy: 'test/inspector/attention.test.ts: at the tenth in a row',
  },
  'told: two refused within a minute wake nobody up': {
    change: ['(row.count > 1 && row.since <= now - LONG_MS)', 'row.count > 1'],
    noticedBy: 'test/inspector/attention.test.ts: two within a minute',
  },
  'told: a webhook that is not ours is never grave': {
    change: ["return id !== '' && newest.has(id);", "return id !== '';"],
    noticedBy: 'test/inspector/attention.test.ts: that is not ours',
  },
  'told: where clocks are off, nobody is told to import a secret': {
    change: ['clocksOff(known).length > 0 ? [] : ', ''],
    noticedBy: 'test/inspector/attention.test.ts: while clocks of instances differ',
  },
  'told: a handler holds its place from ten seconds after its time': {
    change: ['config.HANDLER_TIMEOUT_MS - DEAF_MS', 'config.HANDLER_TIMEOUT_MS'],
    noticedBy: 'test/inspector/attention.test.ts: how many places handlers hold',
  },
  'told: requests that were not recorded are over once one is': {
    change: ['return last >= lastWith(ACK) ? last : 0;', 'return last;'],
    noticedBy: 'test/inspector/attention.test.ts: until a later minute has one',
  },
  'told: a quiet weekend is no silence, as the statistics of the last one stay meanwhile': {
    change: ['accepted.length > 0 ? KEPT_MS : KEPT_IN_SILENCE_MS', 'KEPT_MS'],
    noticedBy: 'test/inspector/silence.test.ts: a quiet weekend',
  },
  'told: before the first event of all was no silence': {
    change: ['CASE WHEN first_at > last_at', 'CASE WHEN 0 * first_at > last_at'],
    noticedBy: 'test/inspector/silence.test.ts: in the first week',
  },
  'told: no silence in the first week': {
    change: ['now - firstAt < WEEK_MS', 'now < firstAt'],
    noticedBy: 'test/inspector/silence.test.ts: in the first week',
  },
  'told: an hour is no silence': {
    change: ['silence: isSilent ?', 'silence: true ?'],
    noticedBy: 'test/inspector/silence.test.ts: of an hour',
  },
  'told: without statistics of the week before, a silence is one from a week on': {
    change: ['silence.longestMs ?? WEEK_MS', 'told'],
    noticedBy: 'test/inspector/attention.test.ts: no statistics of the week before',
  },
  'told: a silence is grave from three times the longest on': {
    change: ['const FAR = 3;', 'const FAR = 2.9;'],
    noticedBy: 'test/inspector/silence.test.ts: one a day',
  },
  'told: what comes a minute later than usual is no silence': {
    change: ['const LATE_MS = 120_000;', 'const LATE_MS = 60_000;'],
    noticedBy: 'test/inspector/attention.test.ts: one an hour is a minute late',
  },
  'told: a pass is over where the app reconciles no more': {
    change: ['missedBy(pass) > 0 && goesOn &&', 'missedBy(pass) > 0 &&'],
    noticedBy: 'test/inspector/attention.test.ts: does so no more',
  },
  'told: who replayed or dismissed many events, from the page or the API': {
    change: [
      "return audited(store, by, verb === 'replay' ? replay : dismiss, ({ events }) => events);",
      "return verb === 'replay' ? replay() : dismiss();",
    ],
    noticedBy: 'test/inspector/changes.test.ts: each route',
  },
  'told: who changed anything else there': {
    change: ['audited(store, changeBy(req, what), work,', '((..._: unknown[]) => work())(work,'],
    noticedBy: 'test/inspector/changes.test.ts: each route',
  },
  'told: an event that asked to come back does not fail': {
    change: ["retry: 'asked'", "retry: 'failed'"],
    noticedBy: 'test/store/operators.test.ts: groups of like errors',
  },
  'told: an event that was lost twice neither asked to wait nor failed': {
    change: ['waiting = CASE WHEN crashes', 'waiting = CASE WHEN 0 * crashes'],
    noticedBy: 'test/store/operators.test.ts: asked for it or failed',
  },
  'told: a replay of pending events leaves those alone that asked to come back': {
    change: ["(filter.status === 'pending' ? 'failed' : undefined)", 'undefined'],
    noticedBy: 'test/scenarios/asked-or-failed.test.ts: does not fail',
  },
  'told: what was skipped while another instance had its handler': {
    change: ['handledAt < seenAt + HEARD_MS', 'handledAt < startedAt'],
    noticedBy: 'test/inspector/reminders.test.ts: was skipped for want of a handler',
  },
  'told: three crashes in a row are a loop, and two are not': {
    change: ['const LEAST_CRASHES = 3;', 'const LEAST_CRASHES = 2;'],
    noticedBy: 'test/inspector/processes.test.ts: it crashed twice',
  },
  'told: an instance that left stays for an hour': {
    change: [`UPDATE instances SET left_at = \${d.now} WHERE`, 'DELETE FROM instances WHERE'],
    noticedBy: 'test/store/operators.test.ts: which have left or are away',
  },
  'told: fewer than INSTANCES are grave after two minutes': {
    change: ['lately < expected && isSettled', 'isSettled'],
    noticedBy: 'test/inspector/processes.test.ts: left a minute ago',
  },
  'told: a process is seen by the clock of the store, and its own is compared with that': {
    change: [`$kinds, $now, \${d.now})`, '$kinds, $now, $now)'],
    noticedBy: 'test/inspector/processes.test.ts: the clock of an instance that is off',
  },
  'told: a key file that is gone': {
    change: ['existsSync(key)', 'key'],
    noticedBy: 'test/cli/operators.test.ts: status says that the key file is gone',
  },
  'told: a transaction that keeps vacuum from its work, and no other': {
    change: ['(backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)', 'true'],
    noticedBy: 'test/store/opening-postgres.test.ts: is told with its process',
  },
  'never lost: nothing is written to a file that is no longer at its path': {
    change: ['if (isWriter && identityOf(path) !== file) throw new Error(replaced(path));', ''],
    noticedBy: 'test/scenarios/acks.test.ts: a database that is moved away',
  },
  'retries: an event without a handler here comes back after ten seconds': {
    change: ['const ELSEWHERE_MS = 10_000;', 'const ELSEWHERE_MS = 60_000;'],
    noticedBy: 'test/dispatch/elsewhere.test.ts: once the other instance has gone',
  },
  'followed: the id of a request is that of a trusted proxy alone': {
    change: ["(req.app.get('trust proxy') > 0 && given)", 'given'],
    noticedBy: 'test/receiver/answers.test.ts: X-Request-Id',
  },
  'followed: an event keeps the id of the request that brought it first': {
    change: ['.last_delivery_at}', '.last_delivery_at}, request = NULL'],
    noticedBy: 'test/scenarios/followed.test.ts',
  },
  'alerts: one post a minute': {
    change: ['Math.abs(now - before.postedAt) >= BETWEEN_MS', 'now >= before.postedAt'],
    noticedBy: 'test/inspector/alerts.test.ts: once a minute',
  },
  'alerts: a fault that is gone for a single round has not ended': {
    change: ['const ROUNDS_GONE = 2;', 'const ROUNDS_GONE = 1;'],
    noticedBy: 'test/inspector/alerts.test.ts: gone for a single round',
  },
  'alerts: what others wrote calls nobody and is no link': {
    change: ["escaped.replaceAll(ACTIVE, '$&\\u200b')", 'escaped'],
    noticedBy: 'test/inspector/alerts.test.ts: a mention',
  },
  'alerts: no error names their URL': {
    change: ['log.warn({ error }', 'log.warn({ error, url }'],
    noticedBy: 'test/inspector/alerts.test.ts: without the URL',
  },
  'deploy: systemd starts no service again whose settings are wrong': {
    change: ['RestartPreventExitStatus=2', ''],
    noticedBy: 'test/deploy/deploy.test.ts: the unit starts the service',
  },
  'deploy: all of .env reaches the containers': {
    change: ['env_file: .env', ''],
    noticedBy: 'test/deploy/deploy.test.ts: takes all of .env',
  },
  'subscribers: one begins at the last safe place, not after what commits late (14)': {
    change: ['(await lastSeq(db))', '(await db.all<{ seq: number }>(d.lastSeq))[0]?.seq'],
    noticedBy: 'test/store/interleavings.test.ts: passes nothing that commits late',
  },
  'subscribers: the cursor does not pass what commits late (14)': {
    change: ['= await lastSeq(db)', '= (await db.all<{ seq: number }>(d.lastSeq))[0]?.seq ?? 0'],
    noticedBy: 'test/store/interleavings.test.ts: passes nothing that commits late',
  },
  'subscribers: nobody waits for a cursor': {
    change: [`\${cursor} \${d.skipLocked}`, `\${cursor} \${d.hasLocks ? 'FOR UPDATE' : ''}`],
    noticedBy: 'test/store/interleavings.test.ts: the other waits for nothing',
  },
  'subscribers: an event is made once, by fan out or by a start with the past': {
    change: [
      `ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at, held_by = excluded.held_by
      WHERE excluded.held_by IS NOT NULL AND events.held_by IS NOT NULL AND events.replays = 0`,
      '',
    ],
    noticedBy: 'test/store/interleavings.test.ts: make each event once',
  },
  'subscribers: a kind of a later version goes to the slot of its name': {
    change: [' || slots.has(kind)', ''],
    noticedBy: 'test/store/subscribers.test.ts: gives each notification once',
  },
  'subscribers: a start with the past holds its events until all are made': {
    change: ["row?.kinds ?? '', { subscriber, heldBy }", "row?.kinds ?? '', { subscriber }"],
    noticedBy: 'test/store/subscribers.test.ts: is started with the past',
  },
  'subscribers: a start that was cut off is taken over, a replay is not': {
    change: [' AND events.replays = 0', ''],
    noticedBy: 'test/store/subscribers.test.ts: that a crash cut off',
  },
  'subscribers: retention does not pass a cursor': {
    change: ['coalesce((SELECT min(place) FROM subscribers), events.seq)', 'events.seq'],
    noticedBy: 'test/store/subscribers.test.ts: retention does not pass',
  },
  'subscribers: late goes by the events of its own': {
    change: ['o.subscriber = events.subscriber AND ', ''],
    noticedBy: 'test/store/subscribers.test.ts: state, late and end of its own',
  },
  'subscribers: a claim has the state of its own': {
    change: ["is('state.resource')} AND state.subscriber = $subscriber", "is('state.resource')}"],
    noticedBy: 'test/store/subscribers.test.ts: state, late and end of its own',
  },
  'subscribers: a settlement locks no lane of another': {
    change: ["what, 'resource', 'subscriber = $subscriber')", "what, 'resource')"],
    noticedBy: 'test/store/interleavings.test.ts: holds up that of no other subscriber',
  },
  'subscribers: a process recovers those that it has': {
    change: [`WHERE lanes.\${OF} AND lease IS NOT NULL AND until`, 'WHERE lease IS NOT NULL AND until'],
    noticedBy: 'test/store/subscribers.test.ts: woken and recovered alone',
  },
  'subscribers: a removal ends all that is pending, whatever acks are under way': {
    change: [
      'const [newest] = (await reader.search({ limit: 1, reach: 1 })).events;',
      'const newest = { seq: await reader.lastSeq() };',
    ],
    noticedBy: 'test/store/interleavings.test.ts: is undone whole',
  },
  'subscribers: a move sets no cursor beyond the last event': {
    change: [`WHERE place > \${LAST}`, 'WHERE false'],
    noticedBy: 'test/store/subscribers.test.ts: leaves out no reminder, and no notification',
  },
  'subscribers: a poll that finds nothing to do is one read': {
    change: ['if (work.isBehind + work.isDue > 0)', 'if (work)'],
    noticedBy: 'test/store/subscribers.test.ts: read once each',
  },
  'plans: a poll searches no table after a backlog (9)': {
    change: ['ORDER BY held_by, next_at`', '`'],
    noticedBy: 'test/store/plans.test.ts: goes through the index that fits',
  },
  'poison: what was lost twice gives way, although other lanes are free (10)': {
    change: ['sweepAt && !this.#isStopped', 'sweepAt && !this.#isStopped && !work.isReady'],
    noticedBy: 'test/dispatch/subscribers.test.ts: gives way after a minute',
  },
  'reminders: what one has become ends with a settlement that forgets or moves it': {
    change: ['await db.each(end, await lockIdle(db, meant, of), { now: of.now, reason });', ''],
    noticedBy: 'test/store/reminders.test.ts: a settlement that (forgets|moves) it',
  },
  'reminders: lanes are opened before anything is taken': {
    change: [
      `await open(db, opened, of.subscriber);
      const taken = await db.each<Reminder>(take, found, of);`,
      `const taken = await db.each<Reminder>(take, found, of);
      await open(db, opened, of.subscriber);`,
    ],
    noticedBy: 'test/store/reminders.test.ts: in two transactions .* a settlement that',
  },
  'reminders: one that was moved meanwhile is not taken': {
    change: [` AND due_at + 0 <= \${d.now}`, ''],
    noticedBy: 'test/store/reminders.test.ts: in two transactions .* a settlement that moves it',
  },
  'reminders: only what was deleted becomes an event': {
    change: ['const events = taken.map(', 'const events = found.map('],
    noticedBy: 'test/store/reminders.test.ts: in two transactions .* a settlement that forgets it',
  },
  'reminders: `after` counts by the clock of the store': {
    change: [`\${d.now} + \${r.after_ms})`, `CAST($now AS bigint) + \${r.after_ms})`],
    noticedBy: 'test/store/reminders.test.ts: when it is due, and not before',
  },
  'reminders: an event for each run that sets it': {
    change: ['setBy, replay, start]);', 'setBy]);'],
    noticedBy: 'test/store/reminders.test.ts: each run that sets a reminder',
  },
  'reminders: a dismissal forgets what the event set': {
    change: ['await db.each(forgetReminders, done, of);', ''],
    noticedBy: 'test/store/reminders.test.ts: dismissing an event',
  },
  'reminders: a removal of a subscriber forgets its own': {
    change: ['await db.all(forget, of);', ''],
    noticedBy: 'test/store/reminders.test.ts: a removal of its subscriber',
  },
  'reminders: twenty a lane': {
    change: ['names.size >= MOST_REMINDERS &&', 'names.size >= 2 * MOST_REMINDERS &&'],
    noticedBy: 'test/dispatch/reminders.test.ts: a media has twenty reminders',
  },
  'reminders: a run that is over sets none': {
    change: [' isOver = true;\n  ', ' isOver = names.size > 99;\n  '],
    noticedBy: 'test/dispatch/reminders.test.ts: a media has twenty reminders',
  },
  'reminders: a kind of the provider of that name goes to unknown': {
    change: ['return isKind(kind) ||', `return isKind(kind) || kind === 'reminder' ||`],
    noticedBy: 'test/dispatch/reminders.test.ts: goes to unknown',
  },
  'reminders: subscribers get no events of others': {
    change: [`subscriber = '' AND NOT \${IS_OWN} ORDER BY seq`, `subscriber = '' ORDER BY seq`],
    noticedBy: 'test/store/reminders.test.ts: are no notifications',
  },
  'reminders: a reader of the cursor gets none': {
    change: [`\`NOT \${IS_OWN}\`, ...`, '...'],
    noticedBy: 'test/store/reminders.test.ts: are no notifications',
  },
  'reminders: a bulk replay leaves them out': {
    change: ['origins: isOpen ? TOLD : undefined', 'origins: undefined as typeof TOLD | undefined'],
    noticedBy: 'test/store/reminders.test.ts: are no notifications',
  },
  'reminders: a move takes them along': {
    change: ["  reminders: ['subscriber', 'resource', 'name'],\n", ''],
    noticedBy: 'test/store/subscribers.test.ts: a move takes every table',
  },
  'schedules: a process that has other times makes no tick': {
    change: [` AND reminders.data = \${r.data}`, ''],
    noticedBy: 'test/dispatch/schedules.test.ts: one that has others makes no tick',
  },
  'schedules: a start with the same times leaves the next one': {
    change: [`\${set} WHERE reminders.data <> excluded.data`, `\${set}`],
    noticedBy: 'test/store/reminders.test.ts: a process that starts with the same times',
  },
  'schedules: a new tick ends those that wait': {
    change: ["await change(db, ticks, of, 'superseded');", 'await db.each(set, ticks, of);'],
    noticedBy: 'test/dispatch/schedules.test.ts: a standstill or a pause',
  },
  'schedules: of those missed, the last': {
    change: ['lastOf(JSON.parse(data), now) ?? 0', 'lastOf(JSON.parse(data), reminder.dueAt) ?? 0'],
    noticedBy: 'test/dispatch/schedules.test.ts: a standstill or a pause',
  },
  'schedules: a tick has a time of its own': {
    change: [`(event.origin === 'schedule' && app.schedule?.[body.name]) || {}`, '{}'],
    noticedBy: 'test/dispatch/schedules.test.ts: a time of its own to end in',
  },
  'erase: an event that is recorded meanwhile waits, also where its lane is not open': {
    change: ['await open(db, all, of.subscriber);', ''],
    noticedBy: 'test/store/erase.test.ts: has what is recorded wait',
  },
  'erase: what handlers run is left': {
    change: ['locked.filter(({ lease }) => !lease)', 'locked'],
    noticedBy: 'test/store/erase.test.ts: leaves what a handler runs',
  },
  'erase: a fan out under way ends first': {
    change: ['await db.all(lockCursors);', ''],
    noticedBy: 'test/store/erase.test.ts: waits for a settlement, a fan out',
  },
  'erase: nothing that waits for a replay or retry runs afterwards': {
    change: ["IN ('pending', 'dead') THEN 'dismissed'", "IN ('dead') THEN 'dismissed'"],
    noticedBy: 'test/store/erase.test.ts: takes what a replay holds',
  },
  'erase: a resource with events of other sites is left': {
    change: ['lanes.filter((lane) => !sum.shared.has(lane.resource))', 'lanes'],
    noticedBy: 'test/store/erase.test.ts: of a site leaves resources',
  },
  'erase: of a site, no event of another one is taken that has just come': {
    change: [" AND site_id IN (coalesce($site, site_id), '')", ''],
    noticedBy: 'test/store/erase.test.ts: comes after it has looked',
  },
  'erase: reconciling knows what was erased': {
    change: [`, \${expected.erased})`, ')'],
    noticedBy: 'test/store/erase.test.ts: stops repeats',
  },
  'erase: nothing is left in the log of SQLite': {
    change: ["'wal_checkpoint(TRUNCATE)'", "'wal_checkpoint(PASSIVE)'"],
    noticedBy: 'test/scenarios/erased-for-good.test.ts: no file of SQLite',
  },
  'erase: changes no longer name it': {
    change: ['digests.get(value) ?? value', 'value'],
    noticedBy: 'test/store/erase.test.ts: leaves the digest',
  },

  // Commands of operators and developers.
  'commands: an import leaves out what no handler could get': {
    change: ['problemIn(JSON.parse(event.body))', 'undefined'],
    noticedBy: 'test/cli/events/importing.test.ts: names what it leaves out',
  },
  'commands: what is imported says so': {
    change: ["queue.record({ ...one, origin: 'import' })", 'queue.record(one)'],
    noticedBy: 'test/cli/events/importing.test.ts: names what it leaves out',
  },
  'commands: a recording keeps the origin of its events': {
    change: ["of.origin === 'notification' ? undefined : of.origin", 'undefined'],
    noticedBy: 'test/cli/events/importing.test.ts: says what was imported or reconciled',
  },
  'commands: a check hands the origin of a recording to the handler': {
    change: ["if (origin === 'notification')", 'if (origin)'],
    noticedBy: 'test/cli/events/importing.test.ts: says what was imported or reconciled',
  },
  'commands: the audit has no path of a secret': {
    change: ['/file$|^json$/.test(option.name())', '/^json$/.test(option.name())'],
    noticedBy: 'test/cli/changes.test.ts: has no secret and no path of one',
  },
  'commands: a dry run leaves no row in the audit': {
    change: ['isTrial ? once() : change(store, command, once)', 'change(store, command, once)'],
    noticedBy: 'test/cli/changes.test.ts: leaves no row',
  },
  'commands: what is reconciled is recorded only once all of it is known': {
    change: ['signal.throwIfAborted();\n    count += step.length;', 'count += step.length;'],
    noticedBy: 'test/cli/reconciling.test.ts: when Ctrl-C ends it',
  },
  'commands: a token goes to no other machine in clear': {
    change: ['isPrivate ? url : undefined', 'url'],
    noticedBy: 'test/cli/elsewhere.test.ts: the token goes by https',
  },
  'commands: no error has the token, even if an answer repeats it': {
    change: [".replaceAll(token ?? '\\0', '(token)')", ''],
    noticedBy: 'test/cli/elsewhere.test.ts: the token goes by https',
  },
  'commands: a token follows no redirect': {
    change: ["{ headers, redirect: 'manual', signal: abort }", '{ headers, signal: abort }'],
    noticedBy: 'test/cli/elsewhere.test.ts: the token goes by https',
  },
  // What never came.
  'reconciling: an event of a minute before is what was expected': {
    change: ['eventTime: eventTime - SAME_MS', 'eventTime'],
    noticedBy: 'test/reconcile/pass.test.ts: takes an event for what was expected',
  },
  'reconciling: what is too young may be on its way': {
    change: ['eventTime <= beganAt - afterMs', 'eventTime <= beganAt'],
    noticedBy: 'test/reconcile/pass.test.ts: takes an event for what was expected',
  },
  'reconciling: what was erased stays erased': {
    change: [`IN (\${expected.resource}, \${expected.erased})`, `IN (\${expected.resource})`],
    noticedBy: 'test/reconcile/pass.test.ts: leaves what was erased',
  },
  'reconciling: of more than `most`, none is recorded': {
    change: ['!isTrial && absent <= most', '!isTrial'],
    noticedBy: 'test/reconcile/pass.test.ts: records exactly `most`',
  },
  'reconciling: what comes while a pass goes on is not recorded': {
    change: ['await missingOf(store, list.slice(at, at + STEP))', 'list.slice(at, at + STEP)'],
    noticedBy: 'test/reconcile/pass.test.ts: records nothing that has come, while it went on',
  },
  'reconciling: the first notification afterwards names the event, and no other does': {
    change: ['isNone(between)} ORDER BY', "'true'} ORDER BY"],
    noticedBy: 'test/reconcile/pass.test.ts: has the first notification',
  },
  'reconciling: a pass that was not whole is no time to begin at': {
    change: ['wholeAt: pass.isRecorded ? beganAt', 'wholeAt: beganAt > 0 ? beganAt'],
    noticedBy: 'test/reconcile/reconcile.test.ts: each pass goes back',
  },
  'reconciling: before the first whole pass, none looks less far back than the first': {
    change: ['? last?.since : last.wholeAt', '? undefined : last.wholeAt'],
    noticedBy: 'test/reconcile/reconcile.test.ts: of more than `most`',
  },
  'releases: a start tries again, where a transaction was in the way of its migration': {
    change: [
      'await tried(() => inTransaction(servers, MIGRATING, migrate));',
      'await inTransaction(servers, MIGRATING, migrate);',
    ],
    noticedBy: 'test/releases/releases.test.ts: at a second try',
  },
  // Tracing.
  'traces: a receipt is in the trace of its request': {
    change: ['kind: SpanKind.PRODUCER,', 'kind: SpanKind.PRODUCER, root: true,'],
    noticedBy: 'test/tracing/tracing.test.ts: linked to the receipt',
  },
  'traces: no text of an error leaves the process': {
    change: ['type(error));', 'type(error)); span.recordException(error as Error);'],
    noticedBy: 'test/tracing/tracing.test.ts: the type of the error alone',
  },
  'traces: what a request wakes is no part of its trace': {
    change: ['AsyncResource.bind(dispatcher.came)', 'dispatcher.came'],
    noticedBy: 'test/tracing/tracing.test.ts: a time-out, a given reason',
  },
  'releases: a command brings no database to a further version': {
    change: ["mustBe: 'current', ...config", '...config'],
    noticedBy: 'test/releases/releases.test.ts: still serves a program',
  },
  'traces: each start is a trace of its own': {
    change: ['SpanKind.CONSUMER, root: true', 'SpanKind.CONSUMER, root: false'],
    noticedBy: 'test/tracing/tracing.test.ts: each start is linked',
  },
};
