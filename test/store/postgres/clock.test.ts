import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type MonotonicClock, systemClock } from '../../../src/base/clock.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { claimOne, claims, LEASE_MS } from '../../support/claiming.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { verified } from '../../support/verified-notification.ts';

const MINUTE = 60_000;

/** The clocks of a machine, which can be moved as those of a machine that sleeps or is set. */
class MovedClock implements MonotonicClock {
  /** by how much each is ahead, milliseconds */
  timeOfDay = 0;
  elapsed = 0;
  now = () => systemClock.now() + this.timeOfDay;
  monotonic = () => systemClock.monotonic() + this.elapsed;
  after = systemClock.after;
}

await describeWithPostgres('a lease on PostgreSQL', (server) => {
  let name: string;
  let clock: MovedClock;
  let moved: PostgresStore;
  let other: PostgresStore;
  beforeEach(async () => {
    name = await createDatabase(server);
    clock = new MovedClock();
    const open = (one: MonotonicClock) =>
      PostgresStore.open({ url: server.url(name), clock: one, secretsKey: SECRETS_KEY, tidies: false });
    [moved, other] = [await open(clock), await open(systemClock)];
  });
  afterEach(async () => {
    await moved.close();
    await other.close();
    await dropDatabase(server, name);
  });

  /** How long each lease lasts by the clock of the server, milliseconds. */
  async function left(): Promise<number[]> {
    const { rows } = await connected(server.adminUrl(name), (admin) =>
      admin.query(`SELECT (lease_until - extract(epoch FROM clock_timestamp()) * 1000)::integer AS ms
        FROM hookkit.lanes WHERE event IS NOT NULL`),
    );
    return rows.map(({ ms }) => ms);
  }

  test.each([
    ['slept for a minute', { elapsed: -MINUTE, timeOfDay: 0 }],
    ['was frozen for a minute, and its time of day is not set yet', { elapsed: -MINUTE, timeOfDay: -MINUTE }],
    ['believes that it is a minute later', { elapsed: MINUTE, timeOfDay: MINUTE }],
  ])('lasts as long as ever, and so do those of others, when the machine %s', async (_, by) => {
    for (const media_id of ['held', 'free']) await other.record(verified({ media_id }));
    const asked = { limit: 1 };
    const [held] = await claims(other, { ...asked, owner: 'other' });
    Object.assign(clock, by);
    const taken = await claims(moved, { ...asked, limit: 10, owner: 'moved' });
    expect(taken.map(({ resource }) => resource)).toEqual(['media:free']);
    const lasting = await left();
    expect(lasting).toHaveLength(2);
    for (const ms of lasting) expect(Math.abs(ms - LEASE_MS)).toBeLessThan(LEASE_MS / 3);
    expect(await claims(other, { ...asked, owner: 'third' })).toEqual([]);
    expect(await other.renew('other', LEASE_MS)).toEqual([held?.id]);
  });

  test('is extended by its whole length, when the machine slept since it was given', async () => {
    await other.record(verified());
    await claimOne(moved, { owner: 'moved' });
    Object.assign(clock, { elapsed: -MINUTE, timeOfDay: -MINUTE });
    await moved.renew('moved', LEASE_MS);
    const [ms = 0] = await left();
    expect(Math.abs(ms - LEASE_MS)).toBeLessThan(LEASE_MS / 3);
  });
});
