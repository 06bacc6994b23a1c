/** A rule, one change of the source that breaks it, and the tests that must notice. */
export interface Mutation {
  readonly rule: string;
  readonly file: string;
  /** stands in the file once */
  readonly original: string;
  readonly mutant: string;
  readonly suite: string;
  /** only the tests of the suite whose names contain this; all unless told otherwise */
  readonly tests?: string;
}

const CONFORMANCE = 'test/store/sqlite/conformance-without-threads.test.ts';

/** For each promise of the kit, how it could be broken. */
export const mutations: readonly Mutation[] = [
  {
    rule: 'what was acknowledged is on disk: the ack waits for the commit',
    file: 'src/receiver/webhook-route.ts',
    original: 'return probe.noting(store.record(notification)).finally(() => waitingAcks--);',
    mutant:
      "void probe.noting(store.record(notification)).finally(() => waitingAcks--); return { status: 'accepted', id: '0-0' };",
    suite: 'test/receiver/overload.test.ts',
    tests: 'makes the answer 503 with Retry-After and nothing recorded',
  },
  {
    rule: 'what was acknowledged is on disk: the database is opened with synchronous FULL',
    file: 'src/store/sqlite/open-sqlite.ts',
    original: "db.pragma('synchronous = FULL');",
    mutant: "db.pragma('synchronous = NORMAL');",
    suite: 'test/store/sqlite/opening.test.ts',
  },
  {
    rule: 'nothing is half done: a commit that fails is undone',
    file: 'src/store/sqlite/write-batch.ts',
    original: 'if (db.inTransaction) rollback?.run();',
    mutant: 'if (db.inTransaction) commit?.run();',
    suite: 'test/store/sqlite/crashes.test.ts',
  },
  {
    rule: 'nothing unverified is handled: the signature is right',
    file: 'src/notification/token.ts',
    original: 'if (isRight && isPlaced) signer ??= key;',
    mutant: 'if (isPlaced || isRight) signer ??= key;',
    suite: 'test/receiver/verdict.test.ts',
  },
  {
    rule: 'nothing unverified is handled: the claims equal the body exactly',
    file: 'src/notification/token.ts',
    original: 'const path = firstDifference(claims, body);',
    mutant: 'const path = undefined;',
    suite: 'test/notification/token-refusal.test.ts',
  },
  {
    rule: 'nothing unverified is handled: the shortcut past jsonwebtoken says yes only where the claims are the whole body',
    file: 'src/notification/token.ts',
    original: 'if (text !== undefined && token.startsWith(plainInput(text))) return undefined;',
    mutant: 'if (text !== undefined && token.startsWith(plainInput(text).slice(0, 40))) return undefined;',
    suite: 'test/receiver/like-jsonwebtoken.test.ts',
  },
  {
    rule: 'nothing unverified is handled: a retired secret verifies nothing',
    file: 'src/receiver/keyring.ts',
    original: 'retireAt === undefined || retireAt > now',
    mutant: 'retireAt === undefined || retireAt > 0 * now',
    suite: 'test/receiver/secrets.test.ts',
  },
  {
    rule: 'nothing unverified is handled: the quarantine admits what verifies',
    file: 'src/receiver/admissions.ts',
    original: 'if (!verifyNotification(token, parseJsonText(body), keyring.keysFor(webhookId), body))',
    mutant: '',
    suite: 'test/receiver/quarantine.test.ts',
    tests: 'stays, when the stored secret does not verify it',
  },
  {
    rule: 'what was acknowledged is never lost: an ack waits until the disk has it',
    file: 'src/store/sqlite/write-batch.ts',
    original: "new Set(['claim', 'renew', 'settle', 'step', 'holds'])",
    mutant: "new Set(['record', 'claim', 'renew', 'settle', 'step', 'holds'])",
    suite: 'test/store/sqlite/durability.test.ts',
  },
  {
    rule: 'what was acknowledged is never lost: what is taken from the ledger is in its lane',
    file: 'src/store/semantics/recording.ts',
    original: 'tables.openLanes(rows.map((row) => ({ ...row, replays: 0 }))),',
    mutant: '',
    suite: CONFORMANCE,
    tests: 'leases an event, when it is ready',
  },
  {
    rule: 'every acknowledged event is handled: after a move, what waits for its next attempt goes on waiting',
    file: 'src/store/former/move-rows.ts',
    original: "iif(status = 'running', NULL, next_attempt_at)",
    mutant: 'NULL',
    suite: 'test/store/former/move.test.ts',
  },
  {
    rule: 'a former database is moved, whatever kills it on the way: the next process goes on from there',
    file: 'src/store/former/move.ts',
    original: 'if (!isResumed) begin(',
    mutant: 'if (true) begin(',
    suite: 'test/store/former/move-killed.test.ts',
    tests: 'makes each step once',
  },
  {
    rule: 'a former database is moved in steps, each of which is kept',
    file: 'src/store/former/move-rows.ts',
    original: 'const STEP = 5_000;',
    mutant: 'const STEP = 5_000_000;',
    suite: 'test/store/former/move-killed.test.ts',
    tests: 'makes each step once',
  },
  {
    rule: 'never two of one resource at once',
    file: 'src/store/sqlite/tables/lanes.ts',
    original: 'SELECT resource FROM lanes WHERE event IS NULL AND head',
    mutant: 'SELECT resource FROM lanes WHERE head',
    suite: CONFORMANCE,
    tests: 'gives one event, when several of one resource are ready',
  },
  {
    rule: 'an attempt is counted when it is claimed',
    file: 'src/store/sqlite/tables/work.ts',
    original: 'SET attempts = attempts + 1',
    mutant: 'SET attempts = attempts + 0',
    suite: CONFORMANCE,
    tests: 'as running in its first attempt',
  },
  {
    rule: 'handled at least once: a lease that ran out gives its event to another process',
    file: 'src/store/sqlite/tables/lanes.ts',
    original: 'lanes.lease_until <= +:now',
    mutant: 'lanes.lease_until <= 0 * :now',
    suite: CONFORMANCE,
    tests: 'a lease that runs out',
  },
  {
    rule: 'never two of one resource at once: a lease holds until its last millisecond',
    file: 'src/store/sqlite/tables/lanes.ts',
    original: 'lanes.lease_until <= +:now',
    mutant: 'lanes.lease_until <= 1 + :now',
    suite: CONFORMANCE,
    tests: 'a lease that runs out',
  },
  {
    rule: 'a handler can tell a repeat: a step that was done does not run again',
    file: 'src/dispatch/once.ts',
    original: 'if (done) return',
    mutant: "if (done && step === '') return",
    suite: 'test/dispatch/once.test.ts',
  },
  {
    rule: 'an ack never waits for a handler',
    file: 'src/service.ts',
    original: 'const receiver = configuredReceiver(config, {\n      store,\n',
    mutant: `  const handled = async (id: EventStore extends { event(id: infer Id): unknown } ? Id : never) => {
    for (let event = await store.event(id); event?.status === 'pending' || event?.status === 'running'; ) {
      dispatcher.wake();
      await new Promise((resolve) => setTimeout(resolve, 10));
      event = await store.event(id);
    }
  };
  const receiver = configuredReceiver(config, {
    store: {
      quarantine: (...given) => store.quarantine(...given),
      secrets: () => store.secrets(),
      webhooksWithOwnSecret: () => store.webhooksWithOwnSecret(),
      async record(notification: Parameters<EventStore['record']>[0]) {
        const recorded = await store.record(notification);
        await handled(recorded.id);
        return recorded;
      },
    } as EventStore,
`,
    suite: 'test/scenarios/acks-never-wait.test.ts',
    tests: 'when no handler ever ends',
  },
  {
    rule: 'nothing unverified is handled: the vault gives no retired secret out',
    file: 'src/store/vault.ts',
    original: 'opened.secrets.filter(({ retireAt = Infinity }) => retireAt > now)',
    mutant: 'opened.secrets',
    suite: CONFORMANCE,
    tests: 'are live, when they retire later',
  },
  {
    rule: 'a wrong or late secret loses nothing: many small sources share one part of the quarantine',
    file: 'src/store/semantics/quarantine-room.ts',
    original: 'const OF_SMALL = 1 / 4;',
    mutant: 'const OF_SMALL = 1;',
    suite: CONFORMANCE,
    tests: 'keep all 60 notifications of one source',
  },
  {
    rule: 'nothing unverified is handled: WEBHOOK_SECRET never serves a webhook that had a secret of its own',
    file: 'src/store/environment-secret.ts',
    original: 'return this.secret !== undefined && !this.#own.has(webhookId);',
    mutant: 'return this.secret !== undefined;',
    suite: 'test/receiver/environment-secret.test.ts',
  },
  {
    rule: 'handled at least once: a process that lost the answer to its claim gets the event again',
    file: 'src/store/semantics/claiming.ts',
    original: 'tables.lostLeases(owner, now, has)',
    mutant: 'tables.lostLeases(owner, now)',
    suite: CONFORMANCE,
    tests: 'an owner that does not know of its lease',
  },
  {
    rule: 'never two of one resource at once: only the lease of an attempt stores its results',
    file: 'src/store/sqlite/tables/lanes.ts',
    original: 'WHERE lanes.resource = +? AND lanes.owner = +?',
    mutant: "WHERE lanes.resource = +? AND lanes.owner <> '' || +?",
    suite: CONFORMANCE,
    tests: 'a claim that has lost its lease',
  },
  {
    rule: 'never two of one resource at once: a renewal that fails comes again soon',
    file: 'src/dispatch/dispatcher.ts',
    original: 'if (isDone) this.#scheduleRenewal();',
    mutant: 'if (isDone || RENEWALS) this.#scheduleRenewal();',
    suite: 'test/dispatch/store-trouble.test.ts',
    tests: 'is asked again ten times as soon',
  },
  {
    rule: 'nobody slows the service down: a live event passes a backlog',
    file: 'src/dispatch/dispatcher.ts',
    original: '...shares,',
    mutant: '...{ ...shares, newest: 0 },',
    suite: 'test/dispatch/fairness.test.ts',
  },
  {
    rule: 'nobody slows the service down: live events pass a backlog as long as there are handlers for three quarters of all',
    file: 'src/dispatch/claim-shares.ts',
    original: 'const wanted = this.#isBehind ? this.#new + this.#lessNew - turn(0) : 0;',
    mutant: 'const wanted = 0;',
    suite: 'test/dispatch/fairness.test.ts',
  },
  {
    rule: 'nobody slows the service down: a bulk replay runs behind live events',
    file: 'src/store/semantics/lane-order.ts',
    original: 'return event.replays > 0 ? REPLAYS_FROM + event.eventTime : event.receivedAt;',
    mutant: 'return event.replays > 0 ? event.eventTime : event.receivedAt;',
    suite: 'test/dispatch/fairness.test.ts',
  },
  {
    rule: 'nobody slows the service down: a live event does not wait for the replay that its media is part of',
    file: 'src/store/sqlite/tables/lanes.ts',
    original: '(SELECT head FROM lanes WHERE lanes.resource = +:resource)',
    mutant: '(SELECT 9e15 FROM lanes WHERE lanes.resource = +:resource)',
    suite: CONFORMANCE,
    tests: 'of a resource that has both replays and others',
  },
  {
    rule: 'nobody slows the service down: a live event that comes while a replay of its media runs does not wait for the whole replay',
    file: 'src/store/sqlite/tables/lanes.ts',
    original: ', excluded.head < head)`,',
    mutant: ', FALSE)`,',
    suite: CONFORMANCE,
    tests: 'of a resource that has both replays and others',
  },
  {
    rule: 'nobody slows the service down: replays go on, however much is live',
    file: 'src/dispatch/dispatcher.ts',
    original: '...shares,',
    mutant: '...{ ...shares, replayed: 0 },',
    suite: 'test/dispatch/fairness.test.ts',
  },
  {
    rule: 'nobody slows the service down: a connection that is going to be closed says so',
    file: 'src/base/in-flight.ts',
    original: 'res.shouldKeepAlive = false;',
    mutant: 'res.shouldKeepAlive &&= true;',
    suite: 'test/base/in-flight.test.ts',
    tests: 'so that it holds nothing on',
  },
  {
    rule: 'nobody slows the service down: what strangers sent is cut before it is logged, kept or shown',
    file: 'src/base/cut.ts',
    original: 'if (text.length <= longest) return text;',
    mutant: 'if (text.length <= longest || longest > 0) return text;',
    suite: 'test/inspector/long-text.test.ts',
    tests: 'the kind, unsigned',
  },
  {
    rule: 'the time of a refusal reveals nothing: the secrets are read again also for a webhook that has none',
    file: 'src/receiver/webhook-route.ts',
    original: '|| !verdict.unverified || lookups >= MAX_LOOKUPS) return verdict;',
    mutant:
      '|| !verdict.unverified || verdict.unverified.keys.length === 0 || lookups >= MAX_LOOKUPS) return verdict;',
    suite: 'test/receiver/secrets.test.ts',
    tests: 'the secrets are read once for each notification',
  },
  {
    rule: 'nobody slows the service down: an overload is answered with 503',
    file: 'src/receiver/webhook-route.ts',
    original: 'const isOverloaded = () => waitingAcks >= options.maxWaitingAcks;',
    mutant: 'const isOverloaded = () => false;',
    suite: 'test/receiver/overload.test.ts',
    tests: 'when as many wait as may',
  },
  {
    rule: 'nobody slows the service down: what verifies is never throttled',
    file: 'src/receiver/verdict.ts',
    original: 'if (limits.isThrottled && !isSigned(token, keys))',
    mutant: 'if (limits.isThrottled)',
    suite: 'test/receiver/verdict.test.ts',
  },
  {
    rule: 'nothing acknowledged is lost: what another process commits late, behind later numbers, is taken into work',
    file: 'src/store/postgres/tables/ledger.ts',
    original: '.filter((gap) => gap.writers.some((writer) => active.includes(writer)))',
    mutant: '.filter((gap) => gap.writers.every((writer) => !active.includes(writer)))',
    suite: 'test/store/postgres/cursor.test.ts',
  },
  {
    rule: 'every acknowledged event is handled: on PostgreSQL, looks for free lanes begin no higher than what was opened',
    file: 'src/store/postgres/frontier.ts',
    original: 'opened = Math.min(opened, head);',
    mutant: '',
    suite: 'test/store/postgres/frontier.test.ts',
  },
  {
    rule: 'every acknowledged event is handled: on PostgreSQL, lanes that a claim has found and left are found again',
    file: 'src/store/postgres/frontier.ts',
    original: 'emptyBelow = Math.min(left?.head ?? found.end, this.#atMost());',
    mutant: 'emptyBelow = Math.min(found.end, this.#atMost());',
    suite: 'test/store/postgres/frontier.test.ts',
  },
  {
    rule: 'what was acknowledged is never lost: on PostgreSQL, nothing of a transaction that failed is executed after it',
    file: 'src/store/postgres/database.ts',
    original: "if (isOver) throw new Error('the transaction has ended');",
    mutant: '',
    suite: 'test/store/postgres/prepared.test.ts',
  },
  {
    rule: 'every event is handled: what a crash took along runs alone later, however late the process starts again',
    file: 'src/store/semantics/claiming.ts',
    original: 'suspects.slice(1).map(',
    mutant: 'suspects.slice(suspects.length).map(',
    suite: CONFORMANCE,
    tests: 'all that were lost together are due',
  },
  {
    rule: 'never two of one resource at once: processes of one PostgreSQL lock the lanes that they claim',
    file: 'src/store/postgres/tables/lanes.ts',
    original: 'LIMIT $1 FOR UPDATE SKIP LOCKED',
    mutant: 'LIMIT $1',
    suite: 'test/store/postgres/conformance.test.ts',
    tests: 'when both claim at the same moment',
  },
  {
    rule: 'never two of one resource at once: a claim reads work after it has locked the lanes, in a later statement',
    file: 'src/store/postgres/links.ts',
    original:
      "return this.#atItsTime('claim', request, (tables, now) => claimTaken(tables, { ...request, now }));",
    mutant: `return this.#transaction('claim', async (tables) => {
        const ready = 'SELECT DISTINCT resource FROM hookkit.work WHERE next_attempt_at IS NULL';
        const names = (await this.#database.statements.rows<{ resource: string }>(ready)).map((work) => work.resource);
        const read = names.length > 0 ? await tables.oldestReady(names) : [];
        const oldestReady = (asked: readonly string[]) => asked.map((one) => read[names.indexOf(one)]);
        return claimTaken({ ...tables, oldestReady }, request);
      });`,
    suite: 'test/store/postgres/contended.test.ts',
    tests: 'when another one settles them while the claim goes through the lanes',
  },
  {
    rule: 'every event is handled: a start ends once, by its owner or by who takes its lease over',
    file: 'src/store/postgres/tables/lanes.ts',
    original: 'IS_FREE} ORDER BY resource FOR UPDATE`',
    mutant: 'IS_FREE} ORDER BY resource`',
    suite: 'test/store/postgres/apart.test.ts',
    tests: 'end a start once',
  },
  {
    rule: 'every event is handled: what came last at a database that is moved is taken into work',
    file: 'src/store/transfer/transfer.ts',
    original: 'while (!(await from.transact(take)));',
    mutant: 'await from.transact(() => take);',
    suite: 'test/store/transfer/transfer.test.ts',
    tests: 'has what came meanwhile',
  },
  {
    rule: 'nothing acknowledged is lost: programs refuse a database of which everything was moved',
    file: 'src/store/transfer/transfer.ts',
    original: "setMark(rows, { as: 'moved', id, other: to.name })",
    mutant: "setMark(rows, { as: 'from', id, other: to.name })",
    suite: 'test/store/transfer/refused.test.ts',
    tests: 'keeps programs from the database that was moved',
  },
];
