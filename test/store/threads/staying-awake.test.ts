import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { StayingAwake } from '../../../src/store/threads/staying-awake.ts';

const [SOON_MS, LATE_MS] = [0.2, 0.4];
const SETTLES = [{ name: 'settle' }];
const ACK = [{ name: 'record' }];
const LOOK = [{ name: 'secretsStamp' }];

let now: number;
beforeEach(() => {
  now = 1000;
});
afterEach(() => {
  now += LATE_MS; // none stays awake beyond its test
});
const stayingAwake = (processors = 2) => new StayingAwake({ monotonic: () => now }, processors);

/** Whether the event loop has something to do at once. */
const isAwake = () => process.getActiveResourcesInfo().includes('Immediate');
/** Lets the event loop turn, and what was to be done at once be done. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await setImmediate();
}

/** Batches of which each is answered after so many milliseconds. */
async function exchange(awake: StayingAwake, batches: number, ms: number, batch = SETTLES): Promise<void> {
  for (let count = 0; count < batches; count++) {
    awake.awaits(batch);
    now += ms;
    awake.came();
  }
  await turns();
}

describe('an event loop that awaits a message', () => {
  test('stays awake until it comes, when the one before came soon', async () => {
    const awake = stayingAwake();
    await exchange(awake, 20, SOON_MS);
    awake.awaits(SETTLES);
    await turns();
    expect(isAwake()).toBe(true);
    awake.came();
    await turns();
    expect(isAwake()).toBe(false);
  });

  test('goes to sleep, when it does not come soon, and at once the next time', async () => {
    const awake = stayingAwake();
    await exchange(awake, 20, SOON_MS);
    awake.awaits(SETTLES);
    now += LATE_MS;
    await turns();
    expect(isAwake()).toBe(false);
    awake.came();
    awake.awaits(SETTLES);
    expect(isAwake()).toBe(false);
    // It was soon this time, so it stays awake the next time.
    awake.came();
    awake.awaits(SETTLES);
    expect(isAwake()).toBe(true);
    awake.came();
    await turns();
  });

  test.each([
    ['the ones before came late', 2, LATE_MS, SETTLES, SETTLES],
    ['acks are among what comes', 2, SOON_MS, ACK, SETTLES],
    ['an ack is awaited', 2, SOON_MS, SETTLES, ACK],
    ['what came before was for a refusal', 2, SOON_MS, LOOK, SETTLES],
    ['it is for a refusal', 2, SOON_MS, SETTLES, LOOK],
    ['several are on the way', 2, SOON_MS, SETTLES, [...SETTLES, ...SETTLES, ...SETTLES]],
    ['there is one processor', 1, SOON_MS, SETTLES, SETTLES],
  ])('goes to sleep at once, when %s', async (_, processors, ms, before, batch) => {
    const awake = stayingAwake(processors);
    await exchange(awake, 20, ms, before);
    awake.awaits(batch);
    expect(isAwake()).toBe(false);
  });
});
