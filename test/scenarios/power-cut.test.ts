import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { openStore } from '../../src/store/open.ts';
import { claims, DEAD, HANDLED, settleAll } from '../support/claiming.ts';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { EVENT_TIME, verified } from '../support/verified-notification.ts';

const ROUNDS = size({ small: 12, full: 30 });
/** Every so many frames of the log, the power is cut. */
const EVERY = size({ small: 29, full: 1 });

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

let directory: string;
let path: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Acknowledged {
  readonly id: string;
  /** how long the log was at the answer */
  readonly logBytes: number;
}

/** Records, claims, settles and replays, and notes how long the log was at each ack. */
async function work(): Promise<Acknowledged[]> {
  const clock = new VirtualClock();
  const store = await openStore({ url: `sqlite:${path}`, clock, threads: false });
  const acknowledged: Acknowledged[] = [];
  let number = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const recorded = Array.from({ length: 1 + (round % 5) }, () => {
      const media_id = `media-${number % 7}`;
      return store.record(verified({ media_id, at: EVENT_TIME + number++ }));
    });
    for (const { id } of await Promise.all(recorded)) {
      acknowledged.push({ id, logBytes: statSync(`${path}-wal`).size });
    }
    const claimed = await claims(store, { oldest: 3 });
    // What is left over stays leased.
    for (const claim of claimed.slice(0, 2)) await store.settle(claim, round % 4 ? HANDLED : DEAD);
    if (round % 9 === 8) await store.replay({ status: 'dead' });
  }
  copyFileSync(path, `${path}.kept`);
  copyFileSync(`${path}-wal`, `${path}.kept-wal`);
  await store.close();
  return acknowledged;
}

/** The database as a power cut leaves it, when no more of the log has reached the disk. */
function cutAt(logBytes: number): string {
  const cut = join(directory, 'cut.db');
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${cut}${suffix}`, { force: true });
  copyFileSync(`${path}.kept`, cut);
  copyFileSync(`${path}.key`, `${cut}.key`);
  writeFileSync(`${cut}-wal`, readFileSync(`${path}.kept-wal`).subarray(0, logBytes));
  return cut;
}

test('every acknowledged event is there and is handled, wherever in the log the power is cut behind its ack', async () => {
  const acknowledged = await work();
  const all = statSync(`${path}.kept-wal`).size;
  const [first] = acknowledged;
  const frameBytes = FRAME_HEADER_BYTES + readFileSync(`${path}.kept`).readUInt16BE(16); // the size of a page
  let cuts = 0;
  for (let end = first?.logBytes ?? 0; end <= all; end += EVERY * frameBytes) {
    expect((end - HEADER_BYTES) % frameBytes).toBe(0);
    const cut = cutAt(end);
    const clock = new VirtualClock();
    const store = await openStore({ url: `sqlite:${cut}`, clock, threads: false });
    // Half an hour: leases of before run out, and a replay that was cut short is made ready after an hour.
    for (let minutes = 0; minutes < 90; minutes += 30) {
      await clock.advance(30 * 60_000);
      await store.recover({ held: [], maxAttempts: 40 });
      await store.wake();
      await settleAll(store, HANDLED);
    }
    const expected = acknowledged.filter(({ logBytes }) => logBytes <= end);
    for (const { id } of expected) {
      const event = await store.event(id);
      expect({ id, status: event?.status }).toEqual({ id, status: expect.stringMatching(/handled|dead/) });
    }
    expect(await store.overview()).toMatchObject({ pending: 0, running: 0 });
    await store.close();
    const db = new Database(cut, { readonly: true });
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    db.close();
    cuts++;
  }
  expect(cuts).toBeGreaterThan(5);
  process.stdout.write(
    `the power was cut at ${cuts} places of the log, behind ${acknowledged.length} acks\n`,
  );
});
