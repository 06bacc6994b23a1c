import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { Elsewhere } from '../../../src/inspector/watch/elsewhere.ts';
import { type Changes, Feed } from '../../../src/inspector/watch/feed.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { openStore } from '../../../src/store/open.ts';
import { HANDLED, settleAll } from '../../support/claiming.ts';
import { verified } from '../../support/verified-notification.ts';

let stored: EventStore;
let clock: VirtualClock;
let feed: Feed;
let looks: number;
let isBroken: boolean;
let heard: Changes[];
let elsewhere: Elsewhere;
beforeEach(async () => {
  clock = new VirtualClock();
  stored = await openStore({ url: 'sqlite::memory:', clock, threads: false });
  feed = new Feed(clock);
  looks = 0;
  isBroken = false;
  heard = [];
  const store: Pick<EventStore, 'overview' | 'search'> = {
    overview: async () => {
      looks++;
      if (isBroken) throw new Error('the database is gone');
      return stored.overview();
    },
    search: (...given) => stored.search(...given),
  };
  elsewhere = new Elsewhere({ feed, store, clock });
});
afterEach(() => stored.close());

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
    await stored.ping(); // what a look asks the store is answered by then
    await new Promise((resolve) => setImmediate(resolve));
  }
  return heard.splice(0);
}

const record = (media: number) => stored.record(verified({ media_id: `media-${media}` }));
const unlisted = (changes: readonly Changes[]) => changes.reduce((sum, { more }) => sum + more, 0);

test('who listens hears that something changed, when another process records events and when it handles them', async () => {
  listen();
  expect(await pass()).toEqual([]);
  for (const media of [1, 2, 3]) await record(media);
  const heardOfNew = await pass();
  expect(unlisted(heardOfNew)).toBe(1);
  expect(heardOfNew.every(({ changes }) => changes.length === 0)).toBe(true);
  expect(await pass(3000)).toEqual([]);
  expect(await settleAll(stored, HANDLED)).toBe(3);
  expect(unlisted(await pass())).toBe(1);
});

test('who listens hears that something changed, when another process records and handles an event between two looks', async () => {
  listen();
  await pass();
  await record(1);
  await settleAll(stored, HANDLED);
  expect(unlisted(await pass())).toBe(1);
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
