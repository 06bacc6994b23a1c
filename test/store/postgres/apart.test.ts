import { expect, test } from '@jest/globals';
import { claimOne, claims, HANDLED } from '../../support/claiming.ts';
import { postgresFixture } from '../../support/postgres-fixture.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { eachWithStore } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

// What reads and then writes by what it read must not mix with the same of another process.

const ROUNDS = 12;
/** More, as few of these meet in the server when the machine is busy. */
const ENDS = 40;

await describeWithPostgres('processes of one database', (server) => {
  const fixture = eachWithStore(postgresFixture(server));
  const numbers = Array.from({ length: ROUNDS }, (_, number) => number);

  test('keep all changes of secrets, when several change them at once', async () => {
    const { store, open, clock } = fixture();
    const stores = [store, await open(), await open()];
    const from = (number: number) => stores[number % stores.length] ?? store;
    for (const number of numbers) await store.addSecret(`old-${number}`, 'secret');
    const changes = numbers.flatMap((number) => [
      from(number).addSecret(`new-${number}`, 'secret'),
      from(number + 1).retireSecret(`old-${number}`, 'secret', clock.now()),
    ]);
    await Promise.all(changes);
    const live = (await store.secrets()).map(({ webhookId }) => webhookId);
    expect(live.toSorted()).toEqual(numbers.map((number) => `new-${number}`).toSorted());
    expect(await store.webhooksWithOwnSecret()).toHaveLength(2 * ROUNDS);
  });

  test('count what the quarantine holds, when several fill it, send the same, and admit at once', async () => {
    const { store, open } = fixture();
    const stores = [store, await open(), await open()];
    const entry = (number: number, source = '198.51.100.1') => {
      const webhook = `webhook-${number % 3}`;
      const notification = verified({ media_id: `media-${100 + number}`, webhook_id: webhook });
      return { ...notification, token: `token-${100 + number}`, source };
    };
    await store.quarantine(entry(0), 1_000_000);
    const room = 8 * ((await store.quarantined())[0]?.bytes ?? 0);
    const done = await Promise.all(
      numbers.flatMap((number) => [
        ...stores.map((one) => one.quarantine(entry(number), room)),
        ...stores.map((one) => one.quarantine(entry(200 + number, `203.0.${number}.1`), room)),
        ...stores.map(async (one) => {
          const admitted = await one.admit(entry(number - 2).token);
          return { isKept: false, lost: 0, admitted: admitted?.status };
        }),
      ]),
    );
    const kept = 1 + done.filter(({ isKept }) => isKept).length;
    // What is admitted and then arrives once more is kept again, and a duplicate when it is admitted again.
    const admissions = done.flatMap((one) => ('admitted' in one && one.admitted) || []);
    const admitted = admissions.length;
    const held = await store.quarantined();
    const { quarantined, quarantineLost } = await store.overview();
    expect(Math.min(admitted, quarantineLost)).toBeGreaterThan(0);
    expect(quarantined).toBe(held.length);
    // What is lost was never kept, or gave way.
    const refused = done.filter(({ isKept, lost }) => !isKept && lost > 0).length;
    expect(kept + refused - admitted - quarantineLost).toBe(held.length);
    expect(await store.count({})).toBe(admissions.filter((status) => status === 'accepted').length);
    expect(held.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(room);
  });

  test('end a start once, when its owner settles it while others take its lost lease over', async () => {
    const { store, open, clock } = fixture();
    const others = [await open(), await open()];
    for (let number = 0; number < ENDS; number++) {
      await store.record(verified({ media_id: 'media', at: EVENT_TIME + number * 1000 }));
      const claim = await claimOne(store, { owner: 'first', leaseMs: 1000 });
      await clock.advance(1001);
      const [isSettled, ...taken] = await Promise.all([
        store.settle(claim, 'first', HANDLED),
        ...others.map((other, index) => claims(other, { owner: `other ${index}`, leaseMs: 1_000_000 })),
      ]);
      const again = taken.flat();
      expect(again).toHaveLength(isSettled ? 0 : 1);
      for (const one of again) {
        expect(one.starts).toBe(2);
        const ends = await Promise.all(taken.map((_, index) => store.settle(one, `other ${index}`, HANDLED)));
        expect(ends.filter(Boolean)).toHaveLength(1);
      }
      const attempts = await store.attempts(claim.id);
      expect(attempts.map(({ outcome }) => outcome)).toEqual(isSettled ? ['handled'] : ['lost', 'handled']);
    }
    expect(await store.count({ status: 'handled' })).toBe(ENDS);
  });
});
