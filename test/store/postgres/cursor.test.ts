import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { Database } from '../../../src/store/postgres/database.ts';
import { queriesOf } from '../../../src/store/postgres/queries/index.ts';
import { tablesOf } from '../../../src/store/postgres/tables/index.ts';
import { record, take } from '../../../src/store/semantics/recording.ts';
import { createDatabase, dropDatabase } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { verified } from '../../support/verified-notification.ts';

// Processes take numbers at once, and commit in another order. A reader keeps the place of what it read last, so it must not
// read past a number that may still get its event.

await describeWithPostgres('a cursor over what was received', (server) => {
  const made: { name: string; database: Database }[] = [];
  let database: Database;
  let queries: ReturnType<typeof queriesOf>;

  beforeEach(async () => {
    const name = await createDatabase(server);
    database = new Database({ url: server.url(name), connections: 2, name: 'cursor' });
    made.push({ name, database });
    queries = queriesOf(database.statements);
  });

  afterAll(async () => {
    for (const { name, database } of made) {
      await database.close();
      await dropDatabase(server, name);
    }
  });

  const entry = (name: string) => ({ ...verified({ media_id: name }), receivedAt: 0 });
  const recorded = (...names: string[]) => record(tablesOf(database.statements), names.map(entry));
  const taken = () => database.transaction((session) => take(tablesOf(session)));

  /** Records an event in a transaction of its own, which goes on after `meanwhile`, if that does not throw. */
  const recordedLate = (name: string, meanwhile: () => Promise<void>) =>
    database.transaction(async (session) => {
      await record(tablesOf(session), [entry(name)]);
      await meanwhile();
    });

  const step = { filter: {}, from: undefined, at: undefined, limit: 10 };
  const names = (events: readonly { readonly resource: string }[]) =>
    events.map(({ resource }) => resource.replace('media:', ''));
  const bodies = (found: readonly { readonly body: string | undefined }[]) =>
    found.map(({ body }) => JSON.parse(body ?? '{}').media_id);

  /** What readers have of the ledger, in both ways. */
  async function followed(): Promise<string[]> {
    const [events, received] = [await queries.eventsAfter(step), await queries.receivedAfter(step)];
    expect(bodies(received.found)).toEqual(names(events.found));
    expect([events.next, received.next]).toEqual([undefined, undefined]);
    return names(events.found);
  }

  /** What lists, searches and counts have of it. */
  async function listed(): Promise<string[]> {
    const all = names((await queries.events(step)).found);
    for (const filter of [{}, { status: 'pending' }, { kind: 'media_available' }] as const) {
      const { events } = await queries.search({ filter, stretch: { reach: 10, limit: 10 } });
      expect(names(events)).toEqual(all);
      expect(await queries.count({ filter, at: undefined })).toEqual({ events: all.length, next: undefined });
    }
    const { tallies } = await queries.overview();
    expect(tallies).toEqual([{ kind: 'media_available', status: 'pending', events: all.length }]);
    return all;
  }

  const settledPlace = async () => tablesOf(database.statements).settledPlace();

  test.each([
    ['not taken into work yet', async () => {}],
    ['taken into work', taken],
    [
      'taken into work, with several looks at what is missing',
      async () => {
        for (let looks = 0; looks < 3; looks++) await taken();
      },
    ],
  ])(
    'stays before a number that is not committed yet, when later ones are committed and %s',
    async (_what, go) => {
      await recorded('one');
      let watched: number | undefined;
      await recordedLate('late', async () => {
        await recorded('two', 'three');
        await go();
        expect(await followed()).toEqual(['one']);
        watched = await settledPlace();
        expect(await listed()).toEqual(['three', 'two', 'one']);
      });
      expect(await listed()).toEqual(['three', 'two', 'late', 'one']);
      await taken();
      expect(await followed()).toEqual(['one', 'late', 'two', 'three']);
      expect(await settledPlace()).not.toBe(watched); // so who watches is told
      expect(await listed()).toEqual(['three', 'two', 'late', 'one']);
    },
  );

  test('goes past a number, when its transaction is rolled back', async () => {
    await recorded('one');
    const failed = recordedLate('never', async () => {
      await recorded('two');
      await taken();
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    await recorded('three');
    await taken();
    expect(await followed()).toEqual(['one', 'two', 'three']);
    expect(await listed()).toEqual(['three', 'two', 'one']);
  });

  test('begins where the reader was, when a number before that place is not committed yet', async () => {
    await recorded('one');
    await recordedLate('late', async () => {
      await recorded('two', 'three');
      const [event] = (await queries.events({ ...step, limit: 2 })).found.toReversed();
      expect(names(event ? [event] : [])).toEqual(['two']);
      expect(names((await queries.eventsAfter({ ...step, from: event?.id })).found)).toEqual(['three']);
      await taken();
      expect(names((await queries.eventsAfter({ ...step, from: event?.id })).found)).toEqual([]);
      const ids = [event?.id ?? ''];
      expect(names((await queries.eventsAfter({ ...step, filter: { ids } })).found)).toEqual(['two']);
    });
  });
});
