import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type { Claim, EventFilter, Settlement } from '../../../src/store/event-store.ts';
import { DEAD, HANDLED, LEASE_MS, RELEASED, request, SKIPPED, waiting } from '../../support/claiming.ts';
import { memoryFixture } from '../../support/memory-fixture.ts';
import { runs } from '../../support/sizes.ts';
import { sqliteFixture } from '../../support/sqlite-fixture.ts';
import type { StoreFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

const sqlite = sqliteFixture('no threads');

/** What somebody does to a store; its claims are those that it gave so far. */
type Step = (fixture: StoreFixture, claims: Claim[]) => Promise<unknown>;

const ends: readonly ((now: number) => Settlement)[] = [
  () => ({ ...HANDLED, state: [{ name: 'posted', value: '1' }] }),
  () => SKIPPED,
  () => DEAD,
  () => RELEASED,
  () => waiting(5000),
];

const notification = fc
  .record({
    event: fc.constantFrom('media_available', 'media_deleted', 'channel_active', 'channel_idle'),
    number: fc.nat(2),
    second: fc.nat(5),
    site: fc.nat(1),
  })
  .map(({ event, number, second, site }) => {
    const subject = event.startsWith('channel')
      ? { media_id: undefined, channel_id: `channel-${number}` }
      : { media_id: `media-${number}` };
    return verified({ event, ...subject, site_id: `site-${site}`, at: EVENT_TIME + second * 1000 });
  });

const entry = fc
  .record({ number: fc.nat(9), network: fc.nat(4), webhook: fc.nat(4), length: fc.constantFrom(20, 600) })
  .map(({ number, network, webhook, length }) => ({
    ...verified({ media_id: `media-${number}`, webhook_id: `hook-${webhook}` }),
    token: `${number} ${network} ${webhook}`.padEnd(length),
    source: `10.0.${network}.${number}`,
  }));

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: notification.map(
      (one): Step =>
        ({ store }) =>
          store.record(one),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.record({ owner: fc.constantFrom('one', 'two'), limit: fc.nat(4) }).map(
      (asked): Step =>
        async ({ store }, claims) => {
          const claimed = await store.claim(request(asked));
          claims.push(...claimed.claims);
          return claimed;
        },
    ),
  },
  {
    weight: 5,
    arbitrary: fc
      .record({ which: fc.nat(), end: fc.constantFrom(...ends), owner: fc.constantFrom('one', 'two') })
      .map(
        ({ which, end, owner }): Step =>
          async ({ store, clock }, claims) => {
            const claim = claims[which % Math.max(1, claims.length)];
            if (!claim) return undefined;
            const step = await store.saveStep(claim, owner, {
              name: `step ${which % 2}`,
              result: String(which),
            });
            return [step, await store.settle(claim, owner, end(clock.now()))];
          },
      ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(1, 4000, LEASE_MS).map(
      (ms): Step =>
        ({ clock }) =>
          clock.advance(ms),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('one', 'two').map(
      (owner): Step =>
        async ({ store }) =>
          (await store.renew(owner, LEASE_MS)).toSorted(),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.boolean().map(
      (resetSteps): Step =>
        ({ store }) =>
          store.replay({}, { resetSteps }),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>(({ store, clock }) => store.prune(clock.now() - 4000, 100)) },
  {
    weight: 8,
    arbitrary: fc.tuple(entry, fc.constantFrom(4000, 12_000)).map(
      ([one, maxBytes]): Step =>
        ({ store }) =>
          store.quarantine(one, maxBytes),
    ),
  },
  {
    weight: 2,
    arbitrary: entry.map(
      ({ token }): Step =>
        ({ store }) =>
          store.admit(token),
    ),
  },
);

/** All that readers show. */
async function look({ store, listed }: StoreFixture): Promise<unknown> {
  await listed();
  const events = await store.events({}, { limit: 1000 });
  const filters: EventFilter[] = [
    {},
    { resource: 'media:media-1' },
    { since: EVENT_TIME + 2000 },
    { status: 'dead' },
  ];
  return {
    events,
    attempts: await Promise.all(events.map(({ id }) => store.attempts(id))),
    steps: await Promise.all(events.map(({ id }) => store.steps(id))),
    states: await Promise.all(events.map(({ resource }) => store.state(resource))),
    timelines: await Promise.all(events.map(({ id }) => store.timeline(id, 2))),
    received: await store.receivedAfter({}, undefined, 100),
    found: await Promise.all(filters.map((filter) => store.search(filter, { reach: 1000, limit: 4 }))),
    replayable: await Promise.all(
      filters.map((filter) => store.replayable(filter, { reach: 1000, limit: 4 })),
    ),
    channels: await store.channels({ limit: 2 }),
    overview: await store.overview(),
    quarantined: (await store.quarantined()).map(({ digest, ...one }) => ({ ...one, digest: [...digest] })),
    webhooks: await store.waitingWebhooks(),
    clock: await store.clock(),
  };
}

async function answersOf(fixture: StoreFixture, steps: readonly Step[]): Promise<unknown> {
  const claims: Claim[] = [];
  const answers: unknown[] = [];
  try {
    for (const one of steps) answers.push(await one(fixture, claims));
    return { answers, seen: await look(fixture) };
  } finally {
    await fixture.cleanUp();
  }
}

test('a store in memory answers and shows what SQLite does, whatever is done to both', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
    const expected = await answersOf(await sqlite(new VirtualClock()), steps);
    expect(await answersOf(await memoryFixture(new VirtualClock()), steps)).toEqual(expected);
  });
  await fc.assert(property, { numRuns: runs(200) });
});
