import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type { Claim, Settlement } from '../../../src/store/event-store.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { WriteLink } from '../../../src/store/postgres/links.ts';
import { migrate } from '../../../src/store/postgres/migrations.ts';
import { tokenDigest } from '../../../src/store/quarantine-keys.ts';
import { HANDLED, LEASE_MS, request, waiting } from '../../support/claiming.ts';
import { ExplainedDatabase } from '../../support/explained.ts';
import { insertPostgresEvents } from '../../support/insert-postgres-events.ts';
import { createDatabase, dropDatabase } from '../../support/postgres-databases.ts';
import { BELIEFS, letBelieve } from '../../support/postgres-statistics.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { some } from '../../support/sizes.ts';
import { verified } from '../../support/verified-notification.ts';

const FEW = 8;
const MANY = 128;
/** In the database before. So many are more than a statement may go through for few events. */
const STORED = 4000;
/** A statement looks through the locks of the whole server, of which other tests have some. */
const LOCKS = 1000;

const STATE = [
  { name: 'set', value: '1' },
  { name: 'deleted', value: null },
];

/** Where the entries of the quarantine come from. */
const SOURCE = '198.51.100.1';

await describeWithPostgres('a batch of events in PostgreSQL', (server) => {
  let name: string;
  let write: WriteLink;
  const databases: Database[] = [];
  const clock = new VirtualClock();
  let count = 0;
  let most = { rows: 0, step: '' };

  beforeAll(async () => {
    name = await createDatabase(server);
    const options = { url: server.url(name), connections: 1, name: 'test' };
    const database = new Database(options);
    await migrate(database, clock);
    // Finished, dead and waiting far beyond what the test does.
    await insertPostgresEvents(
      database.statements,
      `SELECT n AS event, n * 1000 AS event_time, 'media_created' AS kind, 'media:stored ' || n % 1500 AS resource,
         'site' AS site_id, n AS received_at,
         CASE WHEN n % 3 = 0 THEN 'pending' WHEN n % 3 = 1 THEN 'dead' ELSE 'handled' END AS status,
         9000000000000 AS next_attempt_at, 'body' AS body
       FROM generate_series(1::bigint, ${STORED}) AS n`,
      STORED,
    );
    const explained = new ExplainedDatabase(options, (rows, step) => {
      if (rows > most.rows) most = { rows, step };
    });
    databases.push(database, explained);
    write = new WriteLink(explained, clock, (work) => work());
  });
  afterAll(async () => {
    for (const database of databases) await database.close();
    await dropDatabase(server, name);
  });

  /** Expects that the statements of an operation go through some rows for each of its events, and not for each that is stored. */
  const bounded = async <T>(events: number, operation: string, work: () => Promise<T>): Promise<T> => {
    most = { rows: 0, step: '' };
    const done = await work();
    expect({ operation, ...most, rows: Math.min(most.rows, 4 * events + LOCKS) }).toEqual({
      operation,
      ...most,
    });
    return done;
  };

  const notifications = (events: number) =>
    Array.from({ length: events }, (_, n) => ({
      ...verified({ media_id: `media-${n}`, number: count++ }),
      receivedAt: clock.now(),
    }));
  const record = (events: number) =>
    bounded(events, 'record', () =>
      Promise.all(notifications(events).map((one) => write.request('record', one))),
    );
  const claim = async (events: number, owner = 'one') => {
    const asked = { ...request({ limit: events, owner }), now: clock.now() };
    const { claims } = await bounded(events, `claim by ${owner}`, () => write.request('claim', asked));
    expect(claims).toHaveLength(events);
    return claims;
  };
  const settle = async (claims: readonly Claim[], settlement: Settlement, owner = 'one') => {
    const settlings = claims.map((one) => ({ claim: one, owner, settlement, now: clock.now() }));
    const settled = bounded(claims.length, `settle ${settlement.status}`, () =>
      Promise.all(settlings.map((one) => write.request('settle', one))),
    );
    expect(await settled).not.toContain(false);
  };

  const WAYS: Readonly<Record<string, (events: number) => Promise<void>>> = {
    'recorded and handled': async (events) => {
      await record(events);
      await settle(await claim(events), HANDLED);
    },
    'handled with changes of state and steps': async (events) => {
      await record(events);
      const all = await claim(events);
      const steps = all.slice(0, FEW).map((one) => ({ claim: one, owner: 'one', name: 'step', result: '1' }));
      for (const step of steps) await bounded(1, 'save step', () => write.request('saveStep', step));
      for (const { id } of all.slice(0, FEW))
        await bounded(1, 'step', () => write.request('step', { id, name: 'step' }));
      await settle(all, { ...HANDLED, state: STATE });
      for (const { resource } of all.slice(0, FEW))
        expect(await bounded(1, 'delete state', () => write.request('deleteState', resource))).toBe(1);
    },
    'put off and handled': async (events) => {
      await record(events);
      await settle(await claim(events), waiting(1000));
      await clock.advance(1000);
      await settle(await claim(events), HANDLED);
    },
    'recorded twice': async (events) => {
      const again = notifications(events);
      const twice = () => Promise.all([...again, ...again].map((one) => write.request('record', one)));
      await bounded(2 * events, 'record twice', twice);
      await settle(await claim(events), HANDLED);
    },
    'renewed, lost and taken over': async (events) => {
      await record(events);
      const lost = await claim(events, 'another');
      for (const among of [undefined, lost.map(({ place }) => place)]) {
        const now = clock.now();
        const renewal = { owner: 'another', now, until: now + LEASE_MS, among };
        const renewed = await bounded(events, 'renew', () => write.request('renew', renewal));
        expect(renewed).toHaveLength(events);
      }
      // Ready one after the other, the first at once.
      await clock.advance(LEASE_MS);
      await settle(await claim(1), HANDLED);
      await clock.advance(LEASE_MS);
      await settle(await claim(events - 1), HANDLED);
    },
    'replayed, while some wait': async (events) => {
      await record(events);
      const all = await claim(events);
      await settle(all.slice(0, events / 2), HANDLED);
      await settle(all.slice(events / 2), waiting(60_000));
      const holder = { name: 'a replay', until: clock.now() + 3_600_000 };
      const reset = { holder, ids: all.map(({ id }) => id), status: undefined, resetSteps: true, held: 0 };
      expect(await bounded(events, 'reset', () => write.request('resetEvents', reset))).toHaveLength(events);
      const ready = { holder, from: 0, count: events };
      await bounded(events, 'make ready', () => write.request('makeReady', ready));
      await settle(await claim(events), HANDLED);
    },
    'handled and pruned': async (events) => {
      await record(events);
      const all = await claim(events);
      await settle(all, HANDLED);
      for (const among of [all.map(({ id }) => id), undefined]) {
        const step = { handledBefore: clock.now() + 1, limit: events, among };
        expect(await bounded(events, 'prune', () => write.request('prune', step))).toBe(events);
      }
    },
    'quarantined and admitted': async () => {
      const keyOf = (token: string) => tokenDigest(token).toString('hex');
      // One by one, however many there are.
      const events = FEW;
      const entries = notifications(events).map((one) => ({
        ...{ ...one, webhookId: 'unknown', source: SOURCE },
        token: `token ${one.digest}`,
      }));
      for (const entry of entries)
        await bounded(events, 'quarantine', () =>
          write.request('quarantine', { entry, key: keyOf(entry.token), maxBytes: 100_000_000 }),
        );
      for (const { token } of entries)
        await bounded(events, 'admit', () => write.request('admit', keyOf(token)));
      await settle(await claim(events), HANDLED);
    },
  };

  const CASES = BELIEFS.flatMap((belief) => Object.keys(WAYS).map((way) => [belief, way] as const));

  test.each(some(8, CASES))(
    'has no statement go through what is stored, where the server %s, when its events are %s',
    async (belief, way) => {
      await letBelieve(server, name, belief);
      for (const events of [FEW, MANY, MANY]) await WAYS[way]?.(events);
    },
  );
});
