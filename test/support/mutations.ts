/** A change of the source that breaks a rule, and the tests that must notice. */
export interface Mutation {
  readonly file: string;
  /** stands in the file once */
  readonly original: string;
  readonly mutant: string;
  /** a file of tests, and what the names of some of them have: `FILE: WORDS`; all its tests without words */
  readonly noticedBy: string;
}

/** For each promise of the kit, how it could be broken. Numbers are those of "What must not be got wrong" in the design. */
export const mutations: Readonly<Record<string, Mutation>> = {
  // 1. What was acknowledged is never lost.
  'never lost: the ack waits for the commit': {
    file: 'src/receiver/app.ts',
    original: 'const recorded = await acks',
    mutant: `const recorded = { status: 'accepted', id: 'x' } as never;
    void acks`,
    noticedBy: 'test/receiver/answers.test.ts: acknowledges it once its commit is on disk',
  },
  'never lost: acks commit with synchronous FULL (13)': {
    file: 'src/store/operations.ts',
    original: 'new Set<keyof ReturnType<typeof operationsOf>>([',
    mutant: "new Set<keyof ReturnType<typeof operationsOf>>(['record',",
    noticedBy: 'test/store/durability.test.ts: waits for the disk',
  },
  'never lost: a commit that fails is undone whole': {
    file: 'src/store/sqlite/connection.ts',
    original: "if (database.inTransaction) db.all('ROLLBACK');",
    mutant: "if (database.inTransaction) db.all('COMMIT');",
    noticedBy: 'test/store/settle.test.ts: refuses one settlement that no column takes',
  },
  'never lost: one bad request spoils no other, it is run again alone (8)': {
    file: 'src/store/gathered.ts',
    original: 'if (batch.length > 1 && !isUnavailable(error)) {',
    mutant: 'if (batch.length === 0) {',
    noticedBy:
      'test/store/record-and-claim.test.ts: refuses one request that no column takes, and records what came with it',
  },
  'never lost: NUL and half surrogate pairs never reach a column of PostgreSQL (8)': {
    file: 'src/store/postgres/engine.ts',
    original: "value.toWellFormed().replaceAll('\\0', '\\uFFFD')",
    mutant: 'value',
    noticedBy: 'test/store/record-and-claim.test.ts: takes a text with NUL and half surrogate pairs',
  },
  'never lost: a transaction that the server ends for a deadlock is tried again (2)': {
    file: 'src/store/postgres/reasons.ts',
    original: "['40P01', '40001', '55P03'].includes(",
    mutant: "['40001', '55P03'].includes(",
    noticedBy: 'test/store/interleavings.test.ts: tries again, when the server ends one of two',
  },
  'never lost: an ack whose wait for a synchronous standby was cut off is none': {
    file: 'src/store/postgres/engine.ts',
    original: 'if (warning !== undefined) throw new Error(warning);',
    mutant: '',
    noticedBy: 'test/store/interleavings.test.ts: is none, when the server warns of its commit',
  },
  'never lost: a stop serves on for DRAIN_MS before it refuses': {
    file: 'src/service.ts',
    original: "phase = 'draining';",
    mutant: "phase = 'closed';",
    noticedBy: 'test/receiver/service.test.ts: a stop serves on for DRAIN_MS',
  },
  'never lost: a service that is draining says so to a balancer': {
    file: 'src/receiver/app.ts',
    original: "phase() !== 'open'",
    mutant: "phase() === 'closed'",
    noticedBy: 'test/receiver/answers.test.ts: the service drains',
  },
  'never lost: a notification that no known secret explains is kept in quarantine': {
    file: 'src/receiver/app.ts',
    original: 'if (unverified?.isUnexplained) quarantine.add({ token, body: unverified.body }, address);',
    mutant: '',
    noticedBy: 'test/receiver/quarantine.test.ts: is kept, when no known secret explains its signature',
  },
  'never lost: what waits in quarantine is admitted once its secret is stored': {
    file: 'src/receiver/admissions.ts',
    original: 'keys.every((key) => tried.get(webhook)?.includes(key))',
    mutant: 'tried.size > 0',
    noticedBy:
      'test/receiver/service.test.ts: is admitted and handled, when another process stores its secret',
  },
  'never lost: in a full quarantine the network or webhook that holds most gives way': {
    file: 'src/store/quarantine/quarantine.ts',
    original: 'share.bytes >= twentieth',
    mutant: 'share.bytes > maxBytes',
    noticedBy: 'test/store/quarantine.test.ts: that has most',
  },
  'never lost: a tenth of the quarantine is for webhooks that have a stored secret': {
    file: 'src/store/quarantine/quarantine.ts',
    original: 'held.ours <= maxBytes / 10',
    mutant: 'held.ours < 0',
    noticedBy: 'test/store/quarantine.test.ts: leaves a tenth of the room',
  },
  'an ack never waits: room in the quarantine is made in steps, between which acks commit': {
    file: 'src/store/quarantine/quarantine.ts',
    original: '{ ...share, before, limit: STEP }',
    mutant: '{ ...share, before, limit: 1e6 }',
    noticedBy: 'test/store/quarantine.test.ts: records acks, while room is made',
  },
  'never lost: what retention empties keeps its identity, so that a repeat is a duplicate': {
    file: 'src/store/queue/prune.ts',
    original: `\`UPDATE events SET body = NULL \${bySeq.from}`,
    mutant: `\`DELETE FROM events \${bySeq.using}`,
    noticedBy:
      'test/store/operators.test.ts: empties what ended before a time, but for dead events, and keeps identities',
  },
  'never lost: a database of which everything was moved is refused': {
    file: 'src/store/move.ts',
    original: 'await source.setVersion(MOVED);',
    mutant: '',
    noticedBy: 'test/cli/move.test.ts: every command refuses the former one',
  },
  'never lost: a database of a newer version is refused': {
    file: 'src/store/schema.ts',
    original: 'if (version > VERSION)',
    mutant: 'if (version > 99 * VERSION)',
    noticedBy: 'test/scenarios/refused-starts.test.ts: when the database is of a newer version',
  },
  'never lost: a reader of the cursor goes no further than the slowest writer (14)': {
    file: 'src/store/queue/lists/search.ts',
    original: 'return Math.min(seq, lowest?.seq ?? Number.POSITIVE_INFINITY);',
    mutant: 'return seq;',
    noticedBy: 'test/store/interleavings.test.ts: skips nothing that commits late',
  },
  'never lost: a reader is told that its cursor is of another database': {
    file: 'src/inspector/api/received.ts',
    original: 'if (found?.seq === seq && found.receivedAt === receivedAt) return found;',
    mutant: 'if (found?.seq === seq) return found;',
    noticedBy: 'test/inspector/live.test.ts: with 410',
  },
  'never lost: hookkit listen goes on after what was taken, and never after what was not': {
    file: 'src/cli/listen.ts',
    original: 'if (client && !sent) return;',
    mutant: '',
    noticedBy: 'test/cli/listen.test.ts: sends again what is not taken',
  },
  // 2. Nothing unverified is ever handled.
  'nothing unverified: the claims equal the body exactly': {
    file: 'src/notification/token.ts',
    original: 'const path = firstDifference(parseBody(claims).value, value);',
    mutant: 'const path = undefined;',
    noticedBy: 'test/hardening/forgeries.test.ts: rightly signed claims',
  },
  'nothing unverified: claims of the same bytes are the body': {
    file: 'src/notification/token.ts',
    original: 'if (claims.equals(Buffer.from(text)))',
    mutant: 'if (claims.length === Buffer.byteLength(text))',
    noticedBy: 'test/hardening/forgeries.test.ts: rightly signed claims',
  },
  'nothing unverified: jsonwebtoken decides on every token that is accepted': {
    file: 'src/notification/token.ts',
    original: '// Times are claims like any other here',
    mutant: `if (!claimsRefusal(token, body) && !headerRefusal(token)) return undefined;
    //`,
    noticedBy: 'test/notification/notification.test.ts: that jsonwebtoken refuses',
  },
  'nothing unverified: HS256 alone': {
    file: 'src/notification/token.ts',
    original: 'jsonwebtoken.verify(token, signer, {',
    mutant: 'jsonwebtoken.decode(token, {',
    noticedBy: 'test/hardening/forgeries.test.ts: an algorithm',
  },
  'nothing unverified: a token with crit is refused': {
    file: 'src/notification/token.ts',
    original: "return 'crit' in header ? { reason: 'critical header' } : claimsRefusal(",
    mutant: "return header === undefined ? { reason: 'critical header' } : claimsRefusal(",
    noticedBy: 'test/hardening/forgeries.test.ts: crit, rightly signed',
  },
  'nothing unverified: the keys are those of the webhook that the body names': {
    file: 'src/receiver/keyring.ts',
    original: 'const held = stored.get(webhookId);',
    mutant: 'const held = [...stored.values()].flat();',
    noticedBy: 'test/hardening/forgeries.test.ts: of another webhook',
  },
  'nothing unverified: a retired secret verifies nothing from its time on': {
    file: 'src/receiver/keyring.ts',
    original: 'retireAt > now)',
    mutant: 'retireAt > 0 * now)',
    noticedBy: 'test/receiver/secrets.test.ts: verify nothing from their time on',
  },
  'nothing unverified: WEBHOOK_SECRET serves no webhook that ever had a stored secret': {
    file: 'src/receiver/keyring.ts',
    original: 'if (!held) return',
    mutant: 'if (!held?.some(({ retireAt }) => retireAt === undefined)) return',
    noticedBy:
      'test/receiver/secrets.test.ts: verifies nothing for a webhook from its first stored secret on',
  },
  'nothing unverified: the quarantine admits only what the stored secret verifies': {
    file: 'src/receiver/admissions.ts',
    original: '!verifyNotification(',
    mutant: 'true || !verifyNotification(',
    noticedBy: 'test/receiver/quarantine.test.ts: stays, when the stored secret does not verify it',
  },
  'nothing unverified: an entry of the quarantine is admitted at once only by a secret that verifies it': {
    file: 'src/receiver/quarantine.ts',
    original: 'if (!verifyNotification(entry',
    mutant: 'if (verifyNotification(entry',
    noticedBy: 'test/receiver/quarantine.test.ts: is kept, when no known secret explains its signature',
  },
  'nothing unverified: a sealed secret opens only in its row': {
    file: 'src/store/secrets/sealed.ts',
    original: "JSON.stringify(['webhook secret', webhookId, fingerprint, retireAt ?? null]);",
    mutant: "JSON.stringify(['webhook secret', fingerprint]);",
    noticedBy: 'test/store/settle.test.ts: open only in their own row',
  },
  'nothing unverified: rekey leaves nothing that the former key opens': {
    file: 'src/store/secrets/vault.ts',
    original: 'await engine.compact();',
    mutant: '',
    noticedBy: 'test/scenarios/secrets-at-rest.test.ts: is in none of the files',
  },
  'rotation loses no answer: before a refusal the secrets are looked at once more': {
    file: 'src/receiver/app.ts',
    original: 'await keyring.refresh(); //',
    mutant: '//',
    noticedBy: 'test/receiver/secrets.test.ts: verify the very next notification',
  },
  'a body that is nested deeper than 64 is refused': {
    file: 'src/notification/json.ts',
    original: 'const MOST_LEVELS = 64;',
    mutant: 'const MOST_LEVELS = 6400;',
    noticedBy: 'test/receiver/answers.test.ts: nested deeper than 64 levels',
  },
  'an event is what happened, not which webhook told it': {
    file: 'src/notification/json.ts',
    original: 'const { webhook_id: _, ...event } = body;',
    mutant: 'const event = body;',
    noticedBy:
      'test/receiver/acceptance.test.ts: is a duplicate, when another webhook with its own secret told of it before',
  },
  // 3. Every acknowledged event is handled at least once, never two of one resource at once, and its handler can tell a repeat.
  'at least once: an ack updates the lane of its event, also while that is being closed (3)': {
    file: 'src/store/queue/lanes.ts',
    original:
      'DO UPDATE SET over_limit = 0, ready_at =\n    CASE WHEN excluded.ready_at < lanes.ready_at THEN excluded.ready_at ELSE lanes.ready_at END`',
    mutant: 'DO NOTHING`',
    noticedBy:
      'test/store/interleavings.test.ts: record waits for whoever closes the lane, and opens it again',
  },
  'at least once: settle locks lanes before it reads what decides (1)': {
    file: 'src/store/queue/settle.ts',
    original: 'const lock = lockLanes(d);',
    mutant: "const lock = lockLanes(d).replace('FOR UPDATE', '');",
    noticedBy:
      'test/store/interleavings.test.ts: settle changes nothing, when another process recovers the lease while it waits',
  },
  'at least once: wake repeats the condition by which it chose (1)': {
    file: 'src/store/queue/wake.ts',
    original: `releasing(d, \`coalesce(next_at, 0) BETWEEN 1 AND \${d.now}\`)`,
    mutant: "releasing(d, 'true')",
    noticedBy: 'test/store/interleavings.test.ts: wake looks again whether an event is due',
  },
  'at least once: two batches of lanes lock them in one order (2)': {
    file: 'src/store/queue/lanes.ts',
    original: "await db.each(open, inOrder(rows, 'resource'));",
    mutant: 'await db.each(open, rows);',
    noticedBy: 'test/store/interleavings.test.ts: records of the same resources in another order',
  },
  'at least once: ready events without a lane get one (3)': {
    file: 'src/store/queue/wake.ts',
    original: 'await open(db, strays, step.subscriber);',
    mutant: '',
    noticedBy: 'test/store/settle.test.ts: opens a lane for whatever is ready and has none',
  },
  'at least once: a wait that is over is woken': {
    file: 'src/store/queue/wake.ts',
    original: `next_at <= \${d.now} AND crashes < 2`,
    mutant: `next_at > \${d.now} AND crashes < 2`,
    noticedBy: 'test/store/settle.test.ts: wakes it then',
  },
  'at least once: a lease that ran out gives its event to another process': {
    file: 'src/store/queue/wake.ts',
    original: `until < \${d.now} AND`,
    mutant: `until < 0 * \${d.now} AND`,
    noticedBy:
      'test/dispatch/leases.test.ts: of a process that was killed runs out, and the event runs again',
  },
  'never two at once: a process recovers no lease that it holds (5)': {
    file: 'src/store/queue/wake.ts',
    original: ` AND NOT \${d.among('lease', 'held')}
`,
    mutant: `
`,
    noticedBy: 'test/store/settle.test.ts: leaves what a process holds alone',
  },
  'never two at once: leases of others are spared after a stall (5)': {
    file: 'src/dispatch/dispatcher.ts',
    original: 'if (now - this.#pollAt > renewalMs(config.LEASE_MS)) this.#spareOthers();',
    mutant: '',
    noticedBy: 'test/dispatch/leases.test.ts: for a renewal interval after a stall',
  },
  'never two at once: a leased lane is given to nobody else': {
    file: 'src/store/queue/claim.ts',
    original: 'WHERE subscriber = $subscriber AND lease IS NULL AND',
    mutant: 'WHERE subscriber = $subscriber AND',
    noticedBy: 'test/store/record-and-claim.test.ts: never gives two events of one resource at once',
  },
  'never two at once: only the lease of an attempt stores its results (4)': {
    file: 'src/store/queue/settle.ts',
    original: `seqs.has(lease) && seqs.get(lease) === event);
    return new Map(held.map((lane) => [lane.lease, lane]));`,
    mutant: `seqs.size > 0);
    return new Map(keys.flatMap((key) => held.filter(({ event }) => event === key.seq).map((lane) => [key.lease, lane])));`,
    noticedBy: 'test/store/settle.test.ts: changes nothing, when another process took the event over',
  },
  'never two at once: a lease is named by this start of the process (4)': {
    file: 'src/store/queue/claim.ts',
    original: 'lease: randomUUID()',
    mutant: 'lease: String(lanes.indexOf(lane))',
    noticedBy: 'test/store/record-and-claim.test.ts: names each lease otherwise',
  },
  'never two at once: a lease is renewed as long as its handler runs, also one that ignores its abort (4)': {
    file: 'src/dispatch/leases.ts',
    original: '({ leasedAt }) => leasedAt <= now - renewalMs(leaseMs)',
    mutant: '({ leasedAt, abort }) => leasedAt <= now - renewalMs(leaseMs) && !abort.signal.aborted',
    noticedBy: 'test/dispatch/leases.test.ts: keeps its media until it has ended, when it ignores its signal',
  },
  'never two at once: a handler is aborted before its lease runs out (5)': {
    file: 'src/dispatch/leases.ts',
    original: 'if (leased.leasedAt <= before) lose(',
    mutant: 'if (leased.leasedAt <= before - leaseMs) lose(',
    noticedBy:
      'test/dispatch/leases.test.ts: that cannot be renewed has its handler aborted before it runs out',
  },
  'a repeat can be told: a settlement that is sent twice counts once (4)': {
    file: 'src/store/queue/settle.ts',
    original: 'lanes.has(lease) || before.has(lease),',
    mutant: 'lanes.has(lease),',
    noticedBy: 'test/store/settle.test.ts: recognises a settlement that was sent twice',
  },
  'a repeat can be told: a step that was done does not run again': {
    file: 'src/dispatch/once.ts',
    original: 'if (before) return before.result;',
    mutant: '',
    noticedBy: 'test/dispatch/once.test.ts: runs its step once',
  },
  'limits: no more handlers of a kind begin than there is room for': {
    file: 'src/store/queue/claim.ts',
    original: 'const rest = inOrder(own,',
    mutant: 'const rest = inOrder([] as typeof own,',
    noticedBy: 'test/store/record-and-claim.test.ts: as many as there is room for',
  },
  'limits: a quarter of their places goes to the newest': {
    file: 'src/dispatch/dispatcher.ts',
    original: 'Math.floor(share.due + share.room * NEWEST)',
    mutant: 'share === places ? Math.floor(share.due + share.room * NEWEST) : 0',
    noticedBy: 'test/testing/test-receiver.test.ts: a backlog of its limit',
  },
  'tests of handlers: what is delivered comes to each subscriber before all is handled': {
    file: 'src/testing/test-receiver.ts',
    original: ' && this.now() < Math.min(due, this.#life.clock.nextDue() ?? due)',
    mutant: '',
    noticedBy: 'test/testing/subscribers.test.ts: each subscriber handles what is delivered',
  },
  'tests of handlers: settled makes no tick': {
    file: 'src/testing/test-receiver.ts',
    original: 'isTicking: () => this.now() <= this.#ticksUntil',
    mutant: 'isTicking: () => true',
    noticedBy: 'test/testing/reminders.test.ts: ticks come by advance',
  },
  'tests of handlers: a subscriber that breaks a check is named, as it breaks it while the others wait': {
    file: 'src/testing/test-receiver.ts',
    original: '(this.#alone ?? subscriber) !== subscriber',
    mutant: 'false',
    noticedBy: 'test/testing/subscribers.test.ts: a mistake about order',
  },
  'checks of recordings: a subscriber that is missing is a difference': {
    file: 'src/replay/expectations.ts',
    original: 'ends.has(id) || expects[name] ?',
    mutant: 'ends.has(id) ?',
    noticedBy: 'test/cli/events/check.test.ts: is missing or is one more',
  },
  'checks of recordings: handlers see the time of the recording': {
    file: 'src/testing/life.ts',
    original: 'inTimeOf(isCheck ? timers : undefined,',
    mutant: 'inTimeOf(isCheck ? undefined : undefined,',
    noticedBy: 'test/cli/events/check.test.ts: shows handlers the time',
  },
  'checks of recordings: a timer does not end a request that another system still answers': {
    file: 'src/testing/test-receiver.ts',
    original: 'const isNext = await isAtRest(1);',
    mutant: 'const isNext = (await isAtRest(1)) || true;',
    noticedBy: 'test/cli/events/check.test.ts: shows handlers the time',
  },
  'checks of recordings: a handler that never ends fails its line, whatever that expects': {
    file: 'src/replay/expectations.ts',
    original: 'end === NO_EVENT || isUnended ?',
    mutant: 'end === NO_EVENT ?',
    noticedBy: 'test/cli/events/check.test.ts: never ends, also in a step',
  },
  'limits: what is over them holds up nothing behind it': {
    file: 'src/store/queue/claim.ts',
    original: 'overLimit: index + 1 }',
    mutant: 'overLimit: 0 }',
    noticedBy: 'test/store/record-and-claim.test.ts: sets the others aside',
  },
  'an event that crashes have made dead is told to onDead, too': {
    file: 'src/dispatch/dispatcher.ts',
    original: 'for (const event of dead) this.#tellDead(event);',
    mutant: '',
    noticedBy: 'test/dispatch/retries.test.ts: lost to five crashes',
  },
  'a repeat can be told: a name of a step is used once in a run': {
    file: 'src/dispatch/once.ts',
    original: 'if (called.has(step)) throw new Error(calledTwice(step));',
    mutant: '',
    noticedBy: 'test/dispatch/once.test.ts: throws, when the step is under way or done',
  },
  'a repeat can be told: a step is stored only under its lease (4)': {
    file: 'src/store/queue/settle.ts',
    original: 'if ((await heldOf(db, [lease], lease)).size > 0) await db.each(addStep',
    mutant: 'await db.each(addStep',
    noticedBy:
      'test/store/interleavings.test.ts: a step is not stored, when another process recovers the lease',
  },
  'a repeat can be told: ctx.state is stored with a retry as well': {
    file: 'src/dispatch/settlement.ts',
    original: "{ outcome: 'retry', ...left, counts: false }",
    mutant: "{ outcome: 'retry', counts: false }",
    noticedBy: 'test/dispatch/retries.test.ts: what a handler sets in ctx.state',
  },
  'a repeat can be told: late is decided with the first start and stays (12)': {
    file: 'src/store/queue/claim.ts',
    original: '`coalesce(events.late, CASE WHEN',
    mutant: '`coalesce(NULL, CASE WHEN',
    noticedBy: 'test/store/record-and-claim.test.ts: is decided with the first start',
  },
  'a repeat can be told: late goes by handled_at, which a replay does not clear (12)': {
    file: 'src/store/queue/claim.ts',
    original: 'AND o.handled_at IS NOT NULL AND',
    mutant: "AND o.status = 'handled' AND",
    noticedBy:
      'test/store/record-and-claim.test.ts: is an event that was never run, although the newer handled one is being replayed',
  },
  'poison: an event that was lost to five crashes is dead (10)': {
    file: 'src/store/queue/wake.ts',
    original: 'const MOST_CRASHES = 5;',
    mutant: 'const MOST_CRASHES = 500;',
    noticedBy: 'test/store/settle.test.ts: gives an event up that was lost five times',
  },
  'poison: what was lost twice runs as the only such one (10)': {
    file: 'src/store/queue/wake.ts',
    original: 'ORDER BY next_at LIMIT 1`',
    mutant: 'ORDER BY next_at LIMIT 100`',
    noticedBy: 'test/store/settle.test.ts: lets events that were lost twice run one at a time',
  },
  'poison: what was lost twice runs beside none of another subscriber (10)': {
    file: 'src/store/queue/wake.ts',
    original: 'const readySuspect = `SELECT seq, subscriber FROM events WHERE ',
    mutant: 'const readySuspect = `SELECT seq, subscriber FROM events WHERE subscriber = $subscriber AND ',
    noticedBy: 'test/store/subscribers.test.ts: lost twice beside that of another',
  },
  'poison: nothing is leased ahead, so that a crash takes nothing along that never started (4)': {
    file: 'src/dispatch/dispatcher.ts',
    original: 'most: config.DISPATCH_CONCURRENCY,',
    mutant: 'most: config.DISPATCH_CONCURRENCY * 2,',
    noticedBy: 'test/dispatch/claims.test.ts: nothing is leased ahead',
  },
  'retries: an event whose handler another instance has uses up no attempt': {
    file: 'src/dispatch/settlement.ts',
    original: 'afterMs, counts: false };',
    mutant: 'afterMs, counts: true };',
    noticedBy: 'test/dispatch/elsewhere.test.ts: is handled there, uses up no attempt',
  },
  'retries: an event waits ten minutes at most for another instance': {
    file: 'src/dispatch/dispatcher.ts',
    original: 'now - since >= ELSEWHERE_MOST_MS',
    mutant: 'now - since >= 2 * ELSEWHERE_MOST_MS',
    noticedBy: 'test/dispatch/elsewhere.test.ts: is skipped after ten minutes',
  },
  'retries: instances that poll at one pace do not keep an event from the one that has its handler': {
    file: 'src/dispatch/settlement.ts',
    original: '0.9 + policy.random() / 5',
    mutant: '1',
    noticedBy: 'test/dispatch/elsewhere.test.ts: no event misses the one instance',
  },
  'order: what no handler ran for is not decided to be in time (12)': {
    file: 'src/store/queue/settle.ts',
    original: "one.outcome === 'elsewhere' ? undefined : (one.late ?? 0)",
    mutant: 'one.late ?? 0',
    noticedBy: 'test/dispatch/elsewhere.test.ts: is late if a newer one was handled',
  },
  'retries: an orderly stop uses up no attempt': {
    file: 'src/dispatch/settlement.ts',
    original: "outcome: 'interrupted', counts: false",
    mutant: "outcome: 'interrupted', counts: true",
    noticedBy: 'test/dispatch/leases.test.ts: no attempt is used up',
  },
  'retries: they go on for about 21 hours': {
    file: 'src/dispatch/settlement.ts',
    original: 'config.RETRY_BASE_MS * 2 ** (attempt - 1)',
    mutant: 'config.RETRY_BASE_MS * attempt',
    noticedBy: 'test/dispatch/retries.test.ts: is dead after RETRY_MAX_ATTEMPTS',
  },
  'retries: retry() uses up no attempt': {
    file: 'src/dispatch/settlement.ts',
    original: "{ outcome: 'retry', ...left, counts: false }",
    mutant: "{ outcome: 'retry', ...left, counts: true }",
    noticedBy: 'test/dispatch/retries.test.ts: uses up no attempt, but counts as a start',
  },
  'bulk verbs: no event of a replay is ready before all are reset (7)': {
    file: 'src/store/queue/queue.ts',
    original: 'sum.running += reset.running;',
    mutant: `sum.running += reset.running;
        await calls.release(held);`,
    noticedBy: 'test/store/operators.test.ts: holds all events until the last is reset',
  },
  'bulk verbs: what a replay left is released by event time (7)': {
    file: 'src/store/queue/reset.ts',
    original: `ORDER BY event_time, seq LIMIT \${WAVE}`,
    mutant: `ORDER BY seq LIMIT \${WAVE}`,
    noticedBy: 'test/store/operators.test.ts: is finished by another process after an hour, by event time',
  },
  'bulk verbs: a replay leaves out what a lane runs (7)': {
    file: 'src/store/queue/reset.ts',
    original: '.filter(({ seq }) => !running.has(seq));',
    mutant: ';',
    noticedBy: 'test/store/operators.test.ts: leaves an event out that a handler runs',
  },
  'bulk verbs: the status that a filter asks for is looked at again by the statement that writes (1, 7)': {
    file: 'src/store/queue/reset.ts',
    original: "'coalesce($still, events.status) IN (events.status, events.waiting)'",
    mutant: "'true'",
    noticedBy: 'test/store/interleavings.test.ts: replay leaves out what began to run',
  },
  'bulk verbs: what was handled is not dismissed': {
    file: 'src/store/queue/reset.ts',
    original: "AND events.status IN ('pending', 'dead')",
    mutant: '',
    noticedBy: 'test/store/operators.test.ts: takes only what the filter means',
  },
  'a pause: no process starts anything': {
    file: 'src/store/queue/claim.ts',
    original: `"(SELECT name FROM meta WHERE name = 'paused') IS NULL"`,
    mutant: "'true'",
    noticedBy: 'test/store/operators.test.ts: keeps every process from starting anything',
  },
  // 4. An ack never waits for a handler, nor one resource or process for another.
  'an ack never waits for a handler': {
    file: 'src/service.ts',
    original: 'createReceiver(config, { ...parts,',
    mutant: `createReceiver(config, { ...parts,
      store: {
        ping: () => store.ping(),
        async record(given) {
          const recorded = await store.record(given);
          while ((await store.event(recorded.id))?.status !== 'handled') await pause(clock, 10);
          return recorded;
        },
      },`,
    noticedBy: 'test/inspector/attention.test.ts: how many places handlers hold',
  },
  'fairness: a new event of a free resource passes a backlog': {
    file: 'src/dispatch/dispatcher.ts',
    original: 'const NEWEST = 1 / 4;',
    mutant: 'const NEWEST = 0;',
    noticedBy: 'test/dispatch/claims.test.ts: a new event is handled within about a second behind',
  },
  'fairness: a quarter of one free slot is every fourth claim (11)': {
    file: 'src/dispatch/dispatcher.ts',
    original: 'share.due + taken * NEWEST',
    mutant: 'taken * NEWEST',
    noticedBy: 'test/dispatch/claims.test.ts: every fourth event is the newest',
  },
  'fairness: a lane waits since its ready event was received, whoever opens it (11)': {
    file: 'src/store/queue/lanes.ts',
    original: `ready_at = \${firstReady('received_at')}`,
    mutant: 'ready_at = ready_at',
    noticedBy:
      'test/store/record-and-claim.test.ts: counts the waiting of a lane from the receipt of its ready event',
  },
  'fairness: a claim that found as many as it asked for is followed by another': {
    file: 'src/dispatch/dispatcher.ts',
    original: 'this.#isClaimWanted ||= hasMore;',
    mutant: '',
    noticedBy: 'test/dispatch/claims.test.ts: every fourth event is the newest',
  },
  'a frozen neighbour gives up its locks after five seconds (6)': {
    file: 'src/store/postgres/engine.ts',
    original: "SET LOCAL idle_in_transaction_session_timeout = '5s';",
    mutant: 'SET LOCAL idle_in_transaction_session_timeout = 0;',
    noticedBy: 'test/store/interleavings.test.ts: each is ended by the server, when its process stands still',
  },
  'no statement of the hot path goes through what an old snapshot keeps (9)': {
    file: 'src/store/queue/claim.ts',
    original: "coalesce(lanes.lease, '') = $",
    mutant: 'lanes.lease = $',
    noticedBy: 'test/store/plans.test.ts',
  },
  'starting beside others waits for nobody (15)': {
    file: 'src/store/postgres/engine.ts',
    original: 'if (version === VERSION) return; //',
    mutant: '//',
    noticedBy: 'test/store/opening-postgres.test.ts: changes nothing, when the version is current',
  },
  // 5. An unverified request costs less than a verified one, and connections, bodies and failures are bounded.
  'bounded: a token that no live key has signed costs its HMAC and not jsonwebtoken': {
    file: 'src/notification/token.ts',
    original: 'return given.length === right.length && timingSafeEqual(given, right);',
    mutant: 'return given.length === right.length;',
    noticedBy: 'test/notification/notification.test.ts: signed by another',
  },
  'bounded: a source that failed too often gets 429': {
    file: 'src/receiver/app.ts',
    original: 'failures(source) > rejectLimit',
    mutant: 'failures(source) > rejectLimit * 1000',
    noticedBy: 'test/receiver/throttling.test.ts: gets 429 and Retry-After',
  },
  'bounded: what verifies is never throttled': {
    file: 'src/receiver/app.ts',
    original: 'const verdict = await judge(',
    mutant: `res.app.locals.sent = (res.app.locals.sent ?? 0) + 1;
    if (res.app.locals.sent > config.REJECT_LIMIT) return refuse(res, THROTTLED);
    const verdict = await judge(`,
    noticedBy: 'test/receiver/throttling.test.ts: is never throttled in what verifies',
  },
  'bounded: a source is an address without its port, IPv6 by /56': {
    file: 'src/base/request-source.ts',
    original: '(v4 ?? v6 ?? address).replace',
    mutant: 'address.replace',
    noticedBy: 'test/receiver/throttling.test.ts: when they differ by the port',
  },
  'bounded: no more acks wait than may': {
    file: 'src/receiver/app.ts',
    original: 'const isOverloaded = acks.waiting() >= mostWaiting;',
    mutant: 'const isOverloaded = false;',
    noticedBy: 'test/receiver/answers.test.ts: when as many wait as may',
  },
  'bounded: a connection has one request under way': {
    file: 'src/base/http-server.ts',
    original: 'if (!first) {',
    mutant: 'if (!first || first) {',
    noticedBy: 'test/base/listening-and-posting.test.ts: is answered once and closed',
  },
  'bounded: no token is ever in a line of the log': {
    file: 'src/receiver/app.ts',
    original: '{ request, source, status, error, ...refusal, kind, webhook }',
    mutant: '{ request, source, status, error, ...refusal, kind, webhook, token: exchange.token }',
    noticedBy: 'test/receiver/logging.test.ts: has no token, secret, Authorization',
  },
  'bounded: what strangers sent is cut before it is logged, kept or shown': {
    file: 'src/base/text.ts',
    original: 'text.slice(0, longest)',
    mutant: 'text.slice(0, 100 * longest)',
    noticedBy: 'test/receiver/logging.test.ts: at most 200 characters of what a stranger sent',
  },
  'bounded: a stalled log never fills the memory': {
    file: 'src/base/log.ts',
    original: 'const MOST_HELD = 8 * 1024 * 1024;',
    mutant: 'const MOST_HELD = 8 * 1024 ** 4;',
    noticedBy: 'test/base/log.test.ts: with the number of those dropped in the gap',
  },
  'alerts: one process of all posts, by its lease': {
    file: 'src/store/reports/report.ts',
    original: 'if (held.by !== by && (!isFree || alerts))',
    mutant: 'if (held.by !== by && alerts)',
    noticedBy: 'test/inspector/alerts.test.ts: one process of two posts',
  },
  'alerts: what a process posted that has lost the lease is not stored': {
    file: 'src/store/reports/report.ts',
    original: '(!isFree || alerts)',
    mutant: '!isFree',
    noticedBy: 'test/store/operators.test.ts: give the lease of alerts',
  },
  'alerts: a fault is the same whatever its numbers say': {
    file: 'src/inspector/watch/alerts.ts',
    original: "const idOf = ({ fault, of = '' }: Found) => JSON.stringify([fault, of]);",
    mutant: "const idOf = ({ fault, of = '', text }: Found) => JSON.stringify([fault, of, text]);",
    noticedBy: 'test/inspector/alerts.test.ts: whose numbers change',
  },
  'alerts: a redirect is not followed, so that nobody else gets them': {
    file: 'src/provider/checks.ts',
    original: `body: JSON.stringify(alert),
      redirect: 'manual',`,
    mutant: 'body: JSON.stringify(alert),',
    noticedBy: 'test/inspector/alerts.test.ts: refused or redirected',
  },
  'bounded: a token that reads changes nothing': {
    file: 'src/inspector/guard/sign-in.ts',
    original: "if (right === 'change' || isReading)",
    mutant: 'if (right || isReading)',
    noticedBy: 'test/inspector/sign-in.test.ts: changes nothing',
  },
  // 6. What is said of it is true.
  'told: what fails at a site is grave after two minutes': {
    file: 'src/inspector/attention/handling.ts',
    original: 'grave: age > FAILING_MS',
    mutant: 'grave: true',
    noticedBy: 'test/inspector/attention.test.ts: grave after two minutes',
  },
  'told: each site that fails is a fault of its own': {
    file: 'src/inspector/attention/handling.ts',
    original: 'failure(known, of, `site',
    mutant: "failure(known, '', `site",
    noticedBy: 'test/inspector/attention.test.ts: says of three sites',
  },
  'told: a webhook whose requests are all refused is grave at the tenth in a row': {
    file: 'src/inspector/attention/coming-in.ts',
    original: 'const MANY_IN_A_ROW = 10;',
    mutant: 'const MANY_IN_A_ROW = 11;',
    noticedBy: 'test/inspector/attention.test.ts: at the tenth in a row',
  },
  'told: two refused within a minute wake nobody up': {
    file: 'src/inspector/attention/coming-in.ts',
    original: '(row.count > 1 && row.since <= now - LONG_MS)',
    mutant: 'row.count > 1',
    noticedBy: 'test/inspector/attention.test.ts: two within a minute',
  },
  'told: a webhook that is not ours is never grave': {
    file: 'src/inspector/attention/coming-in.ts',
    original: "return id !== '' && newest.has(id);",
    mutant: "return id !== '';",
    noticedBy: 'test/inspector/attention.test.ts: that is not ours',
  },
  'told: where clocks are off, nobody is told to import a secret': {
    file: 'src/inspector/attention/coming-in.ts',
    original: 'clocksOff(known).length > 0 ? [] : ',
    mutant: '',
    noticedBy: 'test/inspector/attention.test.ts: while clocks of instances differ',
  },
  'told: a handler holds its place from ten seconds after its time': {
    file: 'src/inspector/api/stats.ts',
    original: 'config.HANDLER_TIMEOUT_MS - DEAF_MS',
    mutant: 'config.HANDLER_TIMEOUT_MS',
    noticedBy: 'test/inspector/attention.test.ts: how many places handlers hold',
  },
  'told: requests that were not recorded are over once one is': {
    file: 'src/inspector/api/stats.ts',
    original: 'return last >= lastWith(ACK) ? last : 0;',
    mutant: 'return last;',
    noticedBy: 'test/inspector/attention.test.ts: until a later minute has one',
  },
  'told: an event that asked to come back does not fail': {
    file: 'src/store/queue/settle.ts',
    original: "retry: 'asked'",
    mutant: "retry: 'failed'",
    noticedBy: 'test/store/operators.test.ts: groups of like errors',
  },
  'told: an event that was lost twice neither asked to wait nor failed': {
    file: 'src/store/queue/settle.ts',
    original: 'waiting = CASE WHEN crashes',
    mutant: 'waiting = CASE WHEN 0 * crashes',
    noticedBy: 'test/store/operators.test.ts: asked for it or failed',
  },
  'told: a replay of pending events leaves those alone that asked to come back': {
    file: 'src/store/stored.ts',
    original: "(filter.status === 'pending' ? 'failed' : undefined)",
    mutant: 'undefined',
    noticedBy: 'test/scenarios/asked-or-failed.test.ts: does not fail',
  },
  'told: what was skipped while another instance had its handler': {
    file: 'src/inspector/api/stats.ts',
    original: 'handledAt < seenAt + HEARD_MS',
    mutant: 'handledAt < startedAt',
    noticedBy: 'test/scenarios/different-handlers.test.ts: is told with its replay',
  },
  'told: three crashes in a row are a loop, and two are not': {
    file: 'src/inspector/attention/processes.ts',
    original: 'const LEAST_CRASHES = 3;',
    mutant: 'const LEAST_CRASHES = 2;',
    noticedBy: 'test/inspector/processes.test.ts: it crashed twice',
  },
  'told: an instance that left stays for an hour': {
    file: 'src/store/reports/report.ts',
    original: `UPDATE instances SET left_at = \${d.now} WHERE`,
    mutant: 'DELETE FROM instances WHERE',
    noticedBy: 'test/store/operators.test.ts: which have left or are away',
  },
  'told: fewer than INSTANCES are grave after two minutes': {
    file: 'src/inspector/attention/processes.ts',
    original: 'lately < expected && isSettled',
    mutant: 'isSettled',
    noticedBy: 'test/inspector/processes.test.ts: left a minute ago',
  },
  'told: a process is seen by the clock of the store, and its own is compared with that': {
    file: 'src/store/reports/report.ts',
    original: `$kinds, $now, \${d.now})`,
    mutant: '$kinds, $now, $now)',
    noticedBy: 'test/inspector/processes.test.ts: the clock of an instance that is off',
  },
  'told: a key file that is gone': {
    file: 'src/store/sqlite/check.ts',
    original: 'if (secretsKey || existsSync(key)) return undefined;',
    mutant: 'if (secretsKey || key) return undefined;',
    noticedBy: 'test/cli/operators.test.ts: status says that the key file is gone',
  },
  'told: a transaction that keeps vacuum from its work, and no other': {
    file: 'src/store/postgres/engine.ts',
    original: '(backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)',
    mutant: 'true',
    noticedBy: 'test/store/opening-postgres.test.ts: is told with its process',
  },
  'never lost: nothing is written to a file that is no longer at its path': {
    file: 'src/store/sqlite/connection.ts',
    original: 'if (isWriter && identityOf(path) !== file) throw new Error(replaced(path));',
    mutant: '',
    noticedBy: 'test/scenarios/acks.test.ts: a database that is moved away',
  },
  'retries: an event without a handler here comes back after ten seconds': {
    file: 'src/dispatch/settlement.ts',
    original: 'const ELSEWHERE_MS = 10_000;',
    mutant: 'const ELSEWHERE_MS = 60_000;',
    noticedBy: 'test/dispatch/elsewhere.test.ts: once the other instance has gone',
  },
  'followed: the id of a request is that of a trusted proxy alone': {
    file: 'src/receiver/answer.ts',
    original: "(req.app.get('trust proxy') > 0 && given)",
    mutant: 'given',
    noticedBy: 'test/receiver/answers.test.ts: X-Request-Id',
  },
  'followed: an event keeps the id of the request that brought it first': {
    file: 'src/store/queue/record.ts',
    original: `last_delivery_at = \${repeats.at}`,
    mutant: `last_delivery_at = \${repeats.at}, request = NULL`,
    noticedBy: 'test/scenarios/followed.test.ts',
  },
  'alerts: one post a minute': {
    file: 'src/inspector/watch/alerts.ts',
    original: 'Math.abs(now - before.postedAt) >= BETWEEN_MS',
    mutant: 'now >= before.postedAt',
    noticedBy: 'test/inspector/alerts.test.ts: once a minute',
  },
  'alerts: a fault that is gone for a single round has not ended': {
    file: 'src/inspector/watch/alerts.ts',
    original: 'const ROUNDS_GONE = 2;',
    mutant: 'const ROUNDS_GONE = 1;',
    noticedBy: 'test/inspector/alerts.test.ts: gone for a single round',
  },
  'alerts: what others wrote calls nobody and is no link': {
    file: 'src/inspector/watch/alerts.ts',
    original: "escaped.replaceAll(ACTIVE, '$&\\u200b')",
    mutant: 'escaped',
    noticedBy: 'test/inspector/alerts.test.ts: a mention',
  },
  'alerts: no error names their URL': {
    file: 'src/inspector/watch/alerts.ts',
    original: 'log.warn({ error }',
    mutant: 'log.warn({ error, url }',
    noticedBy: 'test/inspector/alerts.test.ts: without the URL',
  },
  'deploy: systemd starts no service again whose settings are wrong': {
    file: 'deploy/systemd/receiver.service',
    original: 'RestartPreventExitStatus=2',
    mutant: '',
    noticedBy: 'test/deploy/deploy.test.ts: the unit starts the service',
  },
  'deploy: all of .env reaches the containers': {
    file: 'deploy/compose/compose.yaml',
    original: 'env_file: .env',
    mutant: '',
    noticedBy: 'test/deploy/deploy.test.ts: takes all of .env',
  },
  'subscribers: one begins at the last safe place, not after what commits late (14)': {
    file: 'src/store/queue/fan-out.ts',
    original: 'row?.place ?? (await lastSeq(db))',
    mutant: 'row?.place ?? (await db.all<{ seq: number }>(d.lastSeq))[0]?.seq',
    noticedBy: 'test/store/interleavings.test.ts: passes nothing that commits late',
  },
  'subscribers: the cursor does not pass what commits late (14)': {
    file: 'src/store/queue/fan-out.ts',
    original: 'const last = await lastSeq(db);',
    mutant: 'const last = (await db.all<{ seq: number }>(d.lastSeq))[0]?.seq ?? 0;',
    noticedBy: 'test/store/interleavings.test.ts: passes nothing that commits late',
  },
  'subscribers: nobody waits for a cursor': {
    file: 'src/store/queue/fan-out.ts',
    original: `\${cursor} \${d.skipLocked}`,
    mutant: `\${cursor} \${d.hasLocks ? 'FOR UPDATE' : ''}`,
    noticedBy: 'test/store/interleavings.test.ts: the other waits for nothing',
  },
  'subscribers: an event is made once, by fan out or by a start with the past': {
    file: 'src/store/queue/fan-out.ts',
    original: `ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at, held_by = excluded.held_by
      WHERE excluded.held_by IS NOT NULL AND events.held_by IS NOT NULL AND events.replays = 0`,
    mutant: '',
    noticedBy: 'test/store/interleavings.test.ts: make each event once',
  },
  'subscribers: a kind of a later version goes to the slot of its name': {
    file: 'src/store/queue/fan-out.ts',
    original: ' || slots.has(kind)',
    mutant: '',
    noticedBy: 'test/store/subscribers.test.ts: gives each notification once',
  },
  'subscribers: a start with the past holds its events until all are made': {
    file: 'src/store/queue/fan-out.ts',
    original: "row?.kinds ?? '', { subscriber, heldBy }",
    mutant: "row?.kinds ?? '', { subscriber }",
    noticedBy: 'test/store/subscribers.test.ts: is started with the past',
  },
  'subscribers: a start that was cut off is taken over, a replay is not': {
    file: 'src/store/queue/fan-out.ts',
    original: ' AND events.replays = 0',
    mutant: '',
    noticedBy: 'test/store/subscribers.test.ts: that a crash cut off',
  },
  'subscribers: retention does not pass a cursor': {
    file: 'src/store/queue/prune.ts',
    original: 'coalesce((SELECT min(place) FROM subscribers), events.seq)',
    mutant: 'events.seq',
    noticedBy: 'test/store/subscribers.test.ts: retention does not pass',
  },
  'subscribers: late goes by the events of its own': {
    file: 'src/store/queue/claim.ts',
    original: 'o.subscriber = events.subscriber AND ',
    mutant: '',
    noticedBy: 'test/store/subscribers.test.ts: state, late and end of its own',
  },
  'subscribers: a claim has the state of its own': {
    file: 'src/store/queue/claim.ts',
    original: ` AND \${table}.subscriber = $subscriber`,
    mutant: ``,
    noticedBy: 'test/store/subscribers.test.ts: state, late and end of its own',
  },
  'subscribers: a settlement locks no lane of another': {
    file: 'src/store/queue/lanes.ts',
    original: "LEASED, 'resource', 'subscriber = $subscriber')",
    mutant: "LEASED, 'resource')",
    noticedBy: 'test/store/interleavings.test.ts: holds up that of no other subscriber',
  },
  'subscribers: a process recovers those that it has': {
    file: 'src/store/queue/wake.ts',
    original: `FROM lanes WHERE \${OF} AND lease IS NOT NULL AND until`,
    mutant: 'FROM lanes WHERE lease IS NOT NULL AND until',
    noticedBy: 'test/store/subscribers.test.ts: woken and recovered alone',
  },
  'subscribers: a removal ends all that is pending, whatever acks are under way': {
    file: 'src/store/queue/queue.ts',
    original: 'await reader.lastGiven()',
    mutant: '{ seq: await reader.lastSeq() }',
    noticedBy: 'test/store/interleavings.test.ts: is undone whole',
  },
  'subscribers: a move sets no cursor beyond the last event': {
    file: 'src/store/move.ts',
    original: `WHERE place > \${LAST}`,
    mutant: 'WHERE false',
    noticedBy: 'test/store/subscribers.test.ts: leaves out no notification',
  },
  'subscribers: a poll that finds nothing to do is one read': {
    file: 'src/dispatch/dispatcher.ts',
    original: 'if (work.isBehind + work.isDue > 0)',
    mutant: 'if (work)',
    noticedBy: 'test/store/subscribers.test.ts: read once each',
  },
  'plans: a poll searches no table after a backlog (9)': {
    file: 'src/store/queue/lists/events.ts',
    original: 'ORDER BY held_by, next_at`',
    mutant: '`',
    noticedBy: 'test/store/plans.test.ts: goes through the index that fits',
  },
  'poison: what was lost twice gives way, although other lanes are free (10)': {
    file: 'src/dispatch/dispatcher.ts',
    original: 'now >= this.#sweepAt && !this.#isStopped',
    mutant: 'now >= this.#sweepAt && !this.#isStopped && !work.isReady',
    noticedBy: 'test/dispatch/subscribers.test.ts: gives way after a minute',
  },
};
