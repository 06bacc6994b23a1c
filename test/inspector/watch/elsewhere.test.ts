import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { Elsewhere } from '../../../src/inspector/watch/elsewhere.ts';
import { type Changes, Feed } from '../../../src/inspector/watch/feed.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { claimOne, HANDLED, settleAll, waiting } from '../../support/claiming.ts';
import { sqliteFixture } from '../../support/sqlite-fixture.ts';
import type { StoreFixture } from '../../support/store-fixture.ts';
import { verified } from '../../support/verified-notification.ts';

const factory = sqliteFixture();

let fixture: StoreFixture;
let clock: VirtualClock;
let feed: Feed;
let looks: number;
let isBroken: boolean;
let heard: Changes[];
let elsewhere: Elsewhere;
beforeEach(async () => {
  clock = new VirtualClock();
  fixture = await factory(clock);
  feed = new Feed(clock);
  looks = 0;
  isBroken = false;
  heard = [];
  const store: Pick<EventStore, 'overview'> = {
    overview: async () => {
      looks++;
      if (isBroken) throw new Error('the database is gone');
      return fixture.store.overview();
    },
  };
  elsewhere = new Elsewhere({ feed, store, clock });
});
afterEach(() => fixture.cleanUp());

function listen(): () => void {
  const end = feed.listen((changes) => heard.push(changes));
  const unfollow = elsewhere.follow();
  return () => {
    unfollow();
    end();
  };
}

/** Lets time pass until listeners have heard of what was done. @returns what they heard */
async function pass(ms = 1250): Promise<Changes[]> {
  for (let passed = 0; passed < ms; passed += 250) {
    await clock.advance(250);
    await fixture.store.ping(); // what a look asks the store is answered by then
    await new Promise((resolve) => setImmediate(resolve));
  }
  return heard.splice(0);
}

const record = (media: number) => fixture.store.record(verified({ media_id: `media-${media}` }));
const unlisted = (changes: readonly Changes[]) => changes.reduce((sum, { more }) => sum + more, 0);

test('who listens hears how many events came and ended elsewhere, when another process records and handles them', async () => {
  listen();
  expect(await pass()).toEqual([]);
  for (const media of [1, 2, 3]) await record(media);
  const heardOfNew = await pass();
  expect(unlisted(heardOfNew)).toBe(3);
  expect(heardOfNew.every(({ changes }) => changes.length === 0)).toBe(true);
  expect(await pass(3000)).toEqual([]);
  expect(await settleAll(fixture.store, HANDLED)).toBe(3);
  expect(unlisted(await pass())).toBe(3);
});

test('who listens hears of no change twice, when this process makes it, also where the counts show it later or not at all', async () => {
  listen();
  await pass();
  const { id } = await record(1);
  feed.changed(id, 'accepted', 'media_available');
  feed.changed('known', 'duplicate', 'media_available');
  expect(unlisted(await pass())).toBe(0);
  feed.changed(id, 'handled', 'media_available');
  expect(unlisted(await pass())).toBe(0);
  await settleAll(fixture.store, HANDLED);
  expect(unlisted(await pass())).toBe(0);
  await record(2);
  expect(unlisted(await pass())).toBe(1);
});

test('who listens hears of nothing, when an event starts or waits for another attempt', async () => {
  await record(1);
  listen();
  await pass();
  const claim = await claimOne(fixture.store);
  expect(await pass()).toEqual([]);
  await fixture.store.settle(claim, 'one', waiting(600_000));
  expect(await pass()).toEqual([]);
});

test('nothing is looked at, when nobody listens, and what changed meanwhile is not told', async () => {
  await pass();
  expect(looks).toBe(0);
  const ends = [listen(), listen()];
  await pass();
  ends[0]?.();
  const before = looks;
  await pass();
  expect(looks).toBeGreaterThan(before);
  ends[1]?.();
  await pass();
  const after = looks;
  await record(1);
  await pass();
  expect(looks).toBe(after);
  listen();
  expect(await pass()).toEqual([]);
});

test('it goes on, when the store could not be read for a while', async () => {
  listen();
  await pass();
  isBroken = true;
  await record(1);
  expect(await pass(3000)).toEqual([]);
  isBroken = false;
  expect(unlisted(await pass())).toBe(1);
});
