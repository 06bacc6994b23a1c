import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../../support/sizes.ts';
import type { CurrentFixture, StoreFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

const ROOMY = 1_000_000;

/** A change of state; those of one channel and second differ in their site. */
function told(channel_id: string, state: 'active' | 'idle', second: number, site_id: string) {
  const at = EVENT_TIME + second * 1000;
  return verified({ media_id: undefined, channel_id, event: `channel_${state}`, at, site_id });
}

async function statesIn({ store, listed }: StoreFixture): Promise<Record<string, string>> {
  await listed();
  const { channels } = await store.channels({ limit: 100 });
  return Object.fromEntries(
    channels.map(({ resource, state, siteId, since }) => [
      resource,
      `${state} ${siteId} ${(since - EVENT_TIME) / 1000}`,
    ]),
  );
}

export function describeChannelStates(fixture: CurrentFixture): void {
  describe('the state of a channel', () => {
    test('is what was received later, when two events are of the same second and the other is admitted from quarantine', async () => {
      const { store, clock } = fixture();
      const entry = { ...told('one', 'active', 1, 'a'), token: 't', source: '192.0.2.1' };
      await store.quarantine(entry, ROOMY);
      await clock.advance(10);
      await store.record(told('one', 'idle', 1, 'b'));
      await store.admit('t');
      expect(await statesIn(fixture())).toEqual({ 'channel:one': 'idle b 1' });
    });

    test('is what was stored later, when two events are of the same second and were received at the same time', async () => {
      const { store, clock } = fixture();
      await store.record(told('one', 'idle', 1, 'a'), clock.now());
      await store.record(told('one', 'active', 1, 'b'), clock.now());
      expect(await statesIn(fixture())).toEqual({ 'channel:one': 'active b 1' });
    });

    test('is that of the newest event time, then of the latest receipt, then of what was stored last, in any order', async () => {
      let runsSoFar = 100; // all names equally long
      const change = fc.record({
        channel: fc.constantFrom('one', 'two'),
        state: fc.constantFrom('active' as const, 'idle' as const),
        second: fc.nat(2),
        /** recorded at once, or admitted after all others */
        isLate: fc.boolean(),
        pause: fc.nat(1),
      });
      const property = fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
        const run = `run-${runsSoFar++}`;
        const { store, clock } = fixture();
        const newest = new Map<string, { rank: number[]; says: string }>();
        const note = (index: number, storedAs: number, receivedAt: number): void => {
          const one = changes[index];
          if (!one) return;
          const rank = [one.second, receivedAt, storedAs];
          const name = `channel:${one.channel} ${run}`;
          if (isAfter(rank, newest.get(name)?.rank))
            newest.set(name, { rank, says: `${one.state} site-${index} ${one.second}` });
        };
        const late: { index: number; receivedAt: number }[] = [];
        let stored = 0;
        for (const [index, { channel, state, second, isLate, pause }] of changes.entries()) {
          await clock.advance(pause);
          const notification = told(`${channel} ${run}`, state, second, `site-${index}`);
          if (isLate) {
            await store.quarantine({ ...notification, token: `${run}-${index}`, source: '::1' }, ROOMY);
            late.push({ index, receivedAt: clock.now() });
          } else {
            await store.record(notification);
            note(index, stored++, clock.now());
          }
        }
        await clock.advance(1);
        for (const { index, receivedAt } of late) {
          await store.admit(`${run}-${index}`);
          note(index, stored++, receivedAt);
        }
        const found = Object.entries(await statesIn(fixture())).filter(([name]) => name.endsWith(run));
        expect(Object.fromEntries(found)).toEqual(
          Object.fromEntries([...newest].map(([name, { says }]) => [name, says])),
        );
      });
      await fc.assert(property, { numRuns: runs(40) });
    });
  });
}

/** Compares member by member. */
function isAfter(one: readonly number[], other: readonly number[] = []): boolean {
  for (const [index, value] of one.entries()) {
    const difference = value - (other[index] ?? Number.NEGATIVE_INFINITY);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
