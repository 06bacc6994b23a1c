import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { parseConfig } from '../../src/config.ts';
import { stats } from '../../src/inspector/attention/attention.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { databaseForEachTest } from '../support/engine.ts';
import { verified } from '../support/verified-notification.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MONDAY = Date.UTC(2026, 0, 5);

const database = databaseForEachTest();
let clock: VirtualClock;
let store: EventStore;
beforeEach(async () => {
  clock = new VirtualClock(MONDAY);
  store = await openStore({ ...parseConfig(database().env), clock, threads: false });
});
afterEach(() => store.close());

/** What comes, every half hour unless it says otherwise, in the hours of which `isOpen` says so, and how often one looks. */
interface Stretch {
  readonly days: number;
  readonly isOpen?: (hour: number, day: number) => boolean;
  readonly everyMs?: number;
  readonly lookMs?: number;
}

/** Lets time pass. @returns what is said newly, each time that one looks */
async function look({ days, isOpen = () => false, everyMs = 30 * MINUTE, lookMs = HOUR }: Stretch) {
  const said: string[] = [];
  let before = '';
  for (const end = clock.now() + days * DAY; clock.now() < end; await clock.advance(lookMs)) {
    const now = clock.now();
    const minutes = Array.from({ length: lookMs / everyMs }, (_, n) => now - n * everyMs).reverse();
    const came = minutes.filter((at) => isOpen((at % DAY) / HOUR, Math.floor((at - MONDAY) / DAY)));
    for (const at of came) await store.queue.record(verified({ media_id: `m${at}` }), at);
    const counted = [...came.map((minute) => [minute, 'accepted'] as const), [now, 'commit'] as const];
    const one = { subscriber: '', kind: '', count: 1, ms: 1, slowest: 1 };
    await store.reports.report({
      instance: { name: 'one', version: '1', startedAt: MONDAY, running: 0, kinds: [] },
      stats: counted.map(([minute, result]) => ({ ...one, minute, result })),
      refusals: [],
      accepted: came.length > 0 ? ['hook0001'] : [],
    });
    const { concerns } = await stats({ store, clock, config: parseConfig({}) });
    const found = concerns.find(({ fault }) => fault === 'silence');
    const present = found ? (found.grave ? 'grave' : 'minor') : '';
    if (present !== before) said.push(`${present}: ${found?.text ?? 'over'}`);
    before = present;
  }
  return said;
}

const NOTHING = 'No notification has come for';
const USUAL = 'the longest silence of the week before was';

test('a quiet weekend each week is no silence, and what does not end after one is told once, for however long', async () => {
  const isWork = (hour: number, day: number) => day % 7 < 5 && hour >= 8 && hour < 18;
  expect(await look({ days: 18, isOpen: isWork, lookMs: 3 * HOUR })).toEqual([]);
  expect(await look({ days: 12 })).toEqual([
    `minor: ${NOTHING} 2 d 15 h; ${USUAL} 2 d 14 h`,
    `grave: ${NOTHING} 7 d 19 h; ${USUAL} 2 d 14 h`,
  ]);
  expect(await look({ days: 19, lookMs: 6 * HOUR })).toEqual([expect.stringMatching('^grave')]);
  expect(await look({ days: 0.01 })).toEqual([`grave: ${NOTHING} 31 d 6 h`]);
});

test('one a day is no silence until a day has none: the third such day is grave, and the next one ends it', async () => {
  const isTen = (hour: number, day: number) => hour === 10 && (day < 15 || day > 17);
  expect(await look({ days: 20, isOpen: isTen, everyMs: HOUR })).toEqual([
    `minor: ${NOTHING} 1 d 1 h; ${USUAL} 1 d 0 h`,
    `grave: ${NOTHING} 3 d 0 h; ${USUAL} 1 d 0 h`,
    ': over',
  ]);
});

test('nothing is said in the first week', async () => {
  const isOpen = (_: number, day: number) => day < 2;
  expect(await look({ days: 8, isOpen, lookMs: 2 * HOUR })).toEqual([
    `grave: ${NOTHING} 5 d 0 h; ${USUAL} 30 min`,
  ]);
});

test('nothing is said of an hour', async () => {
  const isOpen = () => true;
  expect(await look({ days: 8, isOpen })).toEqual([]);
  expect(await look({ days: 0.01 })).toEqual([]);
  expect(await look({ days: 0.01 })).toEqual([`grave: ${NOTHING} 2 h 0 min; ${USUAL} 30 min`]);
});
