import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { newOwner } from '../../../src/store/owner.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { claimOne, claims, HANDLED, LEASE_MS, request, waiting } from '../../support/claiming.ts';
import { type LostAnswers, startLosingAnswers } from '../../support/lost-answers.ts';
import { createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

const UNAVAILABLE = { code: 'STORE_UNAVAILABLE' };

await describeWithPostgres('what the server has committed, where its answer is lost,', (server) => {
  let losing: LostAnswers;
  let name: string;
  let clock: VirtualClock;
  let store: PostgresStore;

  beforeAll(async () => {
    losing = await startLosingAnswers(server);
  });
  afterAll(() => losing?.close());
  beforeEach(async () => {
    name = await createDatabase(server);
    clock = new VirtualClock();
    const options = { secretsKey: SECRETS_KEY, connections: 2, tidies: false };
    store = await PostgresStore.open({ url: losing.url(name), clock, timeOfDatabase: clock, ...options });
  });
  afterEach(async () => {
    await store.close();
    await dropDatabase(server, name);
  });

  /** Has the answer to the next commit of this statement get lost; and more than that, if asked for. */
  function loseNext(statement: string, times = 1): void {
    let left = times;
    losing.isLost = (sql) => sql.includes(statement) && left-- > 0;
  }

  test('is one event, when it is sent again after an ack that failed', async () => {
    loseNext('INSERT INTO hookkit.ledger');
    await expect(store.record(verified())).rejects.toMatchObject(UNAVAILABLE);
    expect((await store.record(verified())).status).toBe('duplicate');
    expect(await store.events({}, { limit: 9 })).toMatchObject([{ deliveries: 2, status: 'pending' }]);
  });

  test('is an event that runs again once the lease is over, when a claim failed, though its owner renews all it has', async () => {
    const lost = await store.record(verified({ media_id: 'lost' }));
    const owner = newOwner('receiver-1');
    loseNext('INSERT INTO hookkit.lanes (resource, head, event');
    await expect(claims(store, { owner })).rejects.toMatchObject(UNAVAILABLE);
    await store.record(verified({ media_id: 'other' }));
    const { place } = await claimOne(store, { owner });
    await clock.advance(LEASE_MS - 1);
    await store.renew(owner, LEASE_MS, [place]);
    expect(await store.claim(request({ owner, has: [place] }))).toEqual({ claims: [], dueInMs: 1 });
    await clock.advance(1);
    expect(await claimOne(store, { owner, has: [place] })).toMatchObject({ id: lost.id, attempts: 2 });
    expect(await store.attempts(lost.id)).toMatchObject([{ outcome: 'lost', instance: 'receiver-1' }]);
  });

  test('is one end, when a result is given again', async () => {
    const { id } = await store.record(verified());
    const claim = await claimOne(store);
    loseNext('INSERT INTO hookkit.attempts');
    await expect(store.settle(claim, 'one', HANDLED)).rejects.toMatchObject(UNAVAILABLE);
    expect(await store.settle(claim, 'one', HANDLED)).toBe(false);
    expect(await store.attempts(id)).toMatchObject([{ attempt: 1, outcome: 'handled' }]);
    expect((await store.overview()).tallies).toEqual([
      { kind: 'media_available', status: 'handled', events: 1 },
    ]);
  });

  test('is one end each, when a result shares its commit with a claim, and what that claimed runs again', async () => {
    for (const index of [0, 1])
      await store.record(verified({ media_id: `media-${index}`, at: EVENT_TIME + index }));
    const first = await claimOne(store, { limit: 1 });
    loseNext('INSERT INTO hookkit.attempts');
    const [settled, claimed] = await Promise.all([
      store.settle(first, 'one', waiting(60_000)),
      claims(store, { has: [first.place] }),
    ]);
    expect(losing.lost).toBeGreaterThan(0);
    expect({ settled, claimed }).toEqual({ settled: false, claimed: [] });
    expect((await store.overview()).tallies).toEqual([
      { kind: 'media_available', status: 'pending', events: 1 },
      { kind: 'media_available', status: 'running', events: 1 },
    ]);
    await clock.advance(LEASE_MS);
    expect(await claimOne(store, { has: [] })).toMatchObject({ resource: 'media:media-1', attempts: 2 });
    await clock.advance(LEASE_MS);
    expect(await store.attempts(first.id)).toMatchObject([{ attempt: 1, outcome: 'error' }]);
  });
});
