import { cpSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import Driver from 'better-sqlite3';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { FAILED, HANDLED, LEASE_MS, notified, polled } from './desk.ts';

let folder: string;
let path: string;
let store: EventStore;
const clock = new VirtualClock();
const opened = (file: string) => openStore({ DATABASE_URL: `sqlite:${file}`, clock, threads: false });

beforeEach(async () => {
  folder = await temporaryDirectory();
  path = join(folder, 'receiver.db');
  store = await opened(path);
});

afterEach(async () => {
  await store.close();
});

/** What the connection was set to, each time that something began to be committed. */
function watched(): string[] {
  const commits: string[] = [];
  let to = 'FULL';
  const { prepare, pragma } = Driver.prototype;
  Driver.prototype.pragma = function (this: Driver.Database, text: string, ...rest: never[]) {
    const [, set] = /^synchronous = (\w+)/.exec(text) ?? [];
    if (set !== undefined) to = set;
    return pragma.call(this, text, ...rest);
  };
  restore = () => Object.assign(Driver.prototype, { prepare, pragma });
  Driver.prototype.prepare = function (this: Driver.Database, text: string) {
    const statement = prepare.call(this, text);
    if (text !== 'COMMIT' || this.readonly) return statement;
    const { run } = statement;
    statement.run = (...given: never[]) => {
      commits.push(to);
      return run.apply(statement, given);
    };
    return statement;
  } as never;
  return commits;
}
let restore = () => {};
afterEach(() => restore());

test('a commit of SQLite waits for the disk, when it has an ack or anything else than claims, renewals, wakes, settlements and the quarantine', async () => {
  const commits = watched();
  const other = await opened(path);
  commits.length = 0;
  const committed = async (work: Promise<unknown>) => {
    await work;
    return commits.splice(0).join(' ');
  };
  expect(await committed(other.queue.record(notified('media:a')))).toBe('FULL');
  const [claim] = await polled(other);
  expect(commits.splice(0)).toEqual(['NORMAL']);
  if (!claim) throw new Error('nothing was claimed');
  expect(await committed(other.queue.renew({ list: [claim], leaseMs: LEASE_MS }))).toBe('NORMAL');
  expect(await committed(other.queue.saveStep({ ...claim, ...{ name: 'mail', result: '1' } }))).toBe('FULL');
  expect(await committed(other.queue.settle(claim, FAILED))).toBe('NORMAL');
  expect(await committed(other.queue.wake())).toBe('NORMAL');
  const forged = { ...notified('media:q'), token: 'x.y.z', source: '::1' };
  expect(await committed(other.quarantine.add(forged, 1000))).toBe('NORMAL');
  expect(await committed(other.quarantine.add({ ...forged, token: 'another' }, 1))).toBe('NORMAL NORMAL');
  expect(await committed(other.queue.recover({ held: [], maxAttempts: 4 }))).toBe('FULL');
  expect(await committed(other.queue.replay({}))).toBe('FULL FULL FULL'); // the last one finds nothing to release
  expect(await committed(other.queue.ping())).toBe('FULL');
  expect(await committed(other.secrets.add('webhook1', 'secret'))).toBe('FULL');
  // What shares a commit with an ack waits with it.
  expect(
    await committed(
      Promise.all([other.queue.wake(), other.queue.record(notified('media:b')), polled(other)]),
    ),
  ).toMatch(/^FULL$/);
  await other.close();
});

const HEADER = 32;
const FRAME_HEADER = 24;

test('a cut of power takes nothing that was acknowledged, wherever it cuts the log after the last commit that waited for the disk', async () => {
  const acked: string[] = [];
  const walSize = () => statSync(`${path}-wal`).size;
  /** How much of the log was on disk for sure, after each ack. */
  const marks: { readonly size: number; readonly acked: number }[] = [];
  for (let round = 0; round < size({ small: 6, full: 60 }); round++) {
    const list = Array.from({ length: 1 + (round % 4) }, (_, n) => notified(`media:${round % 5}-${n}`));
    for (const { id } of await Promise.all(list.map((one) => store.queue.record(one)))) acked.push(id);
    marks.push({ size: walSize(), acked: acked.length });
    // Relaxed commits behind it: a cut may take any part of them.
    for (const claim of await polled(store, { oldest: 2 }))
      await store.queue.settle(claim, round % 3 ? HANDLED : FAILED);
  }
  const [whole, wal] = [readFileSync(path), readFileSync(`${path}-wal`)];
  const page = whole.readUInt16BE(16);
  const frames = (wal.length - HEADER) / (page + FRAME_HEADER);
  expect(Number.isInteger(frames)).toBe(true);
  const stride = size({ small: Math.ceil(frames / 30), full: 1 });
  const first = ((marks[0]?.size ?? 0) - HEADER) / (page + FRAME_HEADER); // before it, the tables are not there yet
  for (let frame = first; frame <= frames; frame += stride) {
    const end = HEADER + frame * (page + FRAME_HEADER);
    for (const torn of [0, page / 2]) {
      const safe = marks.findLast((mark) => mark.size <= end)?.acked ?? 0;
      const copy = join(folder, 'cut.db');
      writeFileSync(copy, whole);
      cpSync(`${path}.key`, `${copy}.key`);
      writeFileSync(`${copy}-wal`, wal.subarray(0, Math.min(wal.length, end + torn)));
      const driver = new Driver(copy);
      const found = new Set(driver.prepare<[], string>('SELECT id FROM events').pluck().all());
      const ready = driver.prepare(
        "SELECT count(*) FROM events e WHERE status = 'pending' AND next_at IS NULL AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.resource = e.resource)",
      );
      expect([driver.pragma('integrity_check', { simple: true }), ready.pluck().get()]).toEqual(['ok', 0]);
      driver.close();
      for (const id of acked.slice(0, safe)) expect(found).toContain(id);
      await rm(copy);
      for (const end of ['-wal', '-shm']) await rm(copy + end, { force: true });
    }
  }
});
