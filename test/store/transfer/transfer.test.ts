import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { MonotonicClock } from '../../../src/base/clock.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { FollowedRound } from '../../../src/store/transfer/transfer.ts';
import {
  claims,
  DEAD,
  HANDLED,
  LEASE_MS,
  RELEASED,
  SKIPPED,
  settleAll,
  waiting,
} from '../../support/claiming.ts';
import { fillEveryTable } from '../../support/every-row.ts';
import { type Content, storedContent } from '../../support/former-content.ts';
import { present } from '../../support/only.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { size, some } from '../../support/sizes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { FAILED, failing, move } from '../../support/transferring.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

/** In a month for which no new database has partitions. */
const LONG_AGO = Date.UTC(2025, 2, 31);

type Engine = 'SQLite' | 'PostgreSQL';

await describeWithPostgres('everything of a database', (server) => {
  let directory: string;
  let clock: VirtualClock;
  let databases: string[];

  beforeEach(async () => {
    directory = await temporaryDirectory();
    clock = new VirtualClock(LONG_AGO);
    databases = [];
  });
  afterEach(async () => {
    rmSync(directory, { recursive: true });
    for (const name of databases) await dropDatabase(server, name);
  });

  /** The URL of an empty database. */
  async function empty(engine: Engine): Promise<string> {
    const number = databases.length;
    if (engine === 'SQLite') return `sqlite:${join(directory, `${number}-${Math.random()}.db`)}`;
    const name = await createDatabase(server);
    databases.push(name);
    return server.url(name);
  }

  function open(url: string): Promise<EventStore> {
    if (url.startsWith('sqlite:')) {
      const timeOfCommit = () => clock.now();
      const path = url.slice('sqlite:'.length);
      return SqliteStore.open({ path, clock, timeOfCommit, threads: false, secretsKey: SECRETS_KEY });
    }
    return PostgresStore.open({
      url,
      clock,
      timeOfDatabase: clock,
      secretsKey: SECRETS_KEY,
      connections: 2,
      tidies: false,
    });
  }

  async function using<T>(url: string, use: (store: EventStore) => Promise<T>): Promise<T> {
    const store = await open(url);
    try {
      return await use(store);
    } finally {
      await store.close();
    }
  }

  async function filled(engine: Engine): Promise<string> {
    const url = await empty(engine);
    await using(url, (store) => fillEveryTable(store, clock));
    return url;
  }

  interface Shown extends Content {
    readonly secrets: readonly unknown[];
    readonly own: readonly string[];
    /** how many events lists by kind find */
    readonly listed: readonly number[];
  }

  function shown(url: string): Promise<Shown> {
    return using(url, async (store) => {
      await claims(store, { limit: 0 }); // takes what was received
      const { states: _, ...content } = await storedContent(store);
      const states = await store.state('media:steps');
      const own = await store.webhooksWithOwnSecret();
      const kinds = [...new Set(content.events.map(({ event }) => event.kind))];
      const listed: number[] = [];
      for (const kind of kinds) listed.push(await store.count({ kind }));
      return { ...content, states: { states }, secrets: await store.secrets(), own, listed };
    });
  }

  const directions = [
    ['SQLite', 'PostgreSQL'],
    ['SQLite', 'SQLite'],
    ['PostgreSQL', 'SQLite'],
    ['PostgreSQL', 'PostgreSQL'],
  ] as const;

  test.each(some(2, directions))(
    'shows the same and goes on, when it was moved from %s to %s',
    async (from, to) => {
      const [here, there] = [await filled(from), await empty(to)];
      const before = await shown(here);
      const last = await using(here, async (store) => (await store.quarantined()).at(-1)?.place ?? 0);
      const { tables } = await move(here, there);
      // The tables have rows of every kind, and each is equal by its checksum.
      expect(tables.filter(({ rows }) => rows === 0)).toEqual([]);
      expect(tables.filter((table) => table.from !== table.to)).toEqual([]);
      if (to === 'PostgreSQL') expect(await outsideOfPartitions(there)).toBe(0);
      expect(await shown(there)).toEqual(before);
      await using(there, async (store) => {
        const record = (media_id: string, second: number) =>
          store.record(verified({ media_id, at: EVENT_TIME + second * 1000 }));
        expect((await record('old', 1)).status).toBe('duplicate'); // although its body is gone
        expect((await record('new', 1)).status).toBe('accepted');
        const [replayed] = await store.events({ resource: 'media:steps' }, { limit: 1 });
        expect(await store.step(present(replayed).id, 'sent')).toEqual({ result: '{"to":["\u0000"]}' });
        // What is ready runs; the event of the process that was killed once its lease has run out; what waits at its time.
        const ready = (await claims(store)).map(({ resource }) => resource);
        expect(ready.toSorted()).toEqual([
          'media:new',
          'media:quarantined-4',
          'media:steps',
          'media:untaken',
        ]);
        for (const _ of [1, 2]) {
          await clock.advance(LEASE_MS); // events that were lost together become ready one after the other
          await settleAll(store, HANDLED);
        }
        const [second, first] = await store.events({ resource: 'media:running' }, { limit: 2 });
        expect([first, second].map((event) => event?.status)).toEqual(['handled', 'handled']);
        expect((await store.attempts(present(first).id)).map(({ outcome }) => outcome)).toEqual([
          'lost',
          'handled',
        ]);
        const open = await store.events({ status: 'pending' }, { limit: 9 });
        expect(open.map(({ resource }) => resource)).toEqual(['media:waiting']);
        const token = { token: 'a new token', source: '198.51.100.1' };
        await store.quarantine({ ...verified({ media_id: 'quarantined' }), ...token }, 1_000_000);
        expect((await store.quarantined()).at(-1)?.place).toBeGreaterThan(last);
      });
    },
  );

  const STEPS_AT_ONCE = size({ small: 9, full: 1 });

  test.each(some(1, directions))(
    'is whole, when a move from %s to %s fails before any of its steps',
    async (from, to) => {
      const [here, there] = [await filled(from), await empty(to)];
      const before = await shown(here);
      for (let at = 1, done = false; !done; at += STEPS_AT_ONCE) {
        let left = at;
        const moved = move(here, there, { around: (side) => failing(side, () => --left === 0) });
        done = await moved.then(
          () => true,
          (error) => {
            expect(String(error)).toContain(FAILED);
            return false;
          },
        );
      }
      expect(await shown(there)).toEqual(before);
    },
  );

  /** On which every pause is over in the next turn. */
  function hurriedClock(): MonotonicClock {
    let now = 0;
    return {
      now: () => now,
      monotonic: () => now,
      after(ms, run) {
        const immediate = setImmediate(() => {
          now += ms;
          run();
        });
        return () => clearImmediate(immediate);
      },
    };
  }

  test.each(some(1, directions))(
    'has what came meanwhile, when a move from %s to %s follows a program until that has ended',
    async (from, to) => {
      const [here, there] = [await filled(from), await empty(to)];
      const program = await open(here);
      const rounds: number[] = [];
      let deeds: Promise<unknown> = Promise.resolve();
      const onRound = ({ number, changed }: FollowedRound) => {
        rounds.push(changed);
        if (number === 1)
          deeds = program
            .record(verified({ media_id: 'meanwhile' }))
            .then(() => program.replay({ resource: 'media:dead' }));
        if (number === 2) deeds = deeds.then(() => program.close());
      };
      const { tables } = await move(here, there, { follows: true, clock: hurriedClock(), onRound });
      await deeds;
      expect(rounds.length).toBeGreaterThan(1);
      expect(rounds[0]).toBeGreaterThan(rounds.at(-1) ?? Number.POSITIVE_INFINITY);
      expect(tables.filter((table) => table.from !== table.to)).toEqual([]);
      await using(there, async (store) => {
        expect((await claims(store)).map(({ resource }) => resource)).toContain('media:meanwhile');
        const [replayed] = await store.events({ resource: 'media:dead' }, { limit: 1 });
        expect(replayed).toMatchObject({ status: 'running', replays: 1 });
      });
    },
  );

  const text = fc.string({ unit: fc.constantFrom('a', '\0', '\u0001', '"', '\u{10ffff}'), maxLength: 3 });
  const media = fc.integer({ min: 0, max: 3 });
  type Deed = (store: EventStore) => Promise<unknown>;
  const deeds: fc.Arbitrary<Deed> = fc.oneof(
    fc.tuple(media, fc.integer({ min: 0, max: 9 }), text).map(
      ([of, second, event]): Deed =>
        (store) =>
          store.record(verified({ media_id: `m${of}`, at: EVENT_TIME + second, event })),
    ),
    fc.tuple(fc.constantFrom(HANDLED, SKIPPED, DEAD, RELEASED, waiting(90)), text).map(
      ([settlement, name]): Deed =>
        async (store) => {
          for (const claim of await claims(store, { limit: 2 })) {
            await store.saveStep(claim, 'one', { name, result: JSON.stringify(name) });
            await store.settle(claim, 'one', { ...settlement, state: [{ name, value: '1' }] });
          }
        },
    ),
    fc.constant<Deed>((store) => claims(store, { limit: 1, owner: 'killed' })),
    media.map(
      (of): Deed =>
        (store) =>
          store.replay({ resource: `media:m${of}` }, { resetSteps: of === 0 }),
    ),
    media.map(
      (of): Deed =>
        (store) =>
          store.prune(clock.now(), of),
    ),
    fc.tuple(media, text).map(
      ([of, source]): Deed =>
        (store) =>
          store.quarantine({ ...verified({ media_id: `m${of}` }), token: `token ${of}`, source }, 3000),
    ),
    text.map(
      (secret): Deed =>
        (store) =>
          store.addSecret(secret, `secret ${secret}`),
    ),
    fc.constant<Deed>(() => clock.advance(LEASE_MS)),
  );

  test('is the same, when any database was moved to the other engine and back', async () => {
    const property = fc.asyncProperty(
      fc.array(deeds, { maxLength: 30 }),
      fc.constantFrom<[Engine, Engine]>(['SQLite', 'PostgreSQL'], ['PostgreSQL', 'SQLite']),
      async (done, [one, other]) => {
        const [here, there, back] = [await empty(one), await empty(other), await empty(one)];
        await using(here, async (store) => {
          for (const deed of done) await deed(store);
        });
        const before = await shown(here);
        const first = await move(here, there);
        const second = await move(there, back);
        expect(await shown(back)).toEqual(before);
        const [{ tables: went }, { tables: came }] = [first, second];
        for (const table of [...went, ...came]) expect(table.to).toBe(table.from);
        // The checksums of secrets have a salt.
        expect(came.slice(1)).toEqual(went.slice(1));
      },
    );
    await fc.assert(property, { numRuns: size({ small: 2, full: 30 }) });
  });
});

/** The rows of months that have no partition. */
async function outsideOfPartitions(url: string): Promise<number> {
  const { rows } = await connected(url, (client) =>
    client.query('SELECT event FROM hookkit.bodies_other UNION ALL SELECT event FROM hookkit.attempts_other'),
  );
  return rows.length;
}
