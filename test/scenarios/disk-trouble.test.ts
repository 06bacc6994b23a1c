import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import type { EventId } from '../../src/store/stored.ts';
import { bodyOf, deliver } from '../support/notifications.ts';
import { OWN_THREADS } from '../support/own-threads.ts';
import { type RunningService, runService } from '../support/running-service.ts';
import { size } from '../support/sizes.ts';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';

/** Notifications that find the disk full. */
const TOO_MANY = size({ small: 60, full: 380 });

let service: RunningService | undefined;
let disk: SmallDisk | undefined;

afterEach(async () => {
  await service?.dispose();
  service = undefined;
  disk?.remove();
  disk = undefined;
});

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: { readonly status?: string; readonly id?: EventId; readonly error?: string };
}

async function send(url: string, body: string): Promise<Answer> {
  const response = await deliver(url, body);
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: (await response.json()) as Answer['body'],
  };
}

/** As large as a notification may be, so that a small disk is soon full. */
function largeBody(number: number): string {
  return JSON.stringify({ ...JSON.parse(bodyOf(number)), note: 'x'.repeat(40_000) });
}

/** What each refusal must look like while the trouble lasts. */
const REFUSED = { status: 503, retryAfter: expect.stringMatching(/^\d+$/), body: { error: 'not recorded' } };

async function expectRecorded({ store }: RunningService, acknowledged: readonly Answer[]): Promise<void> {
  const found = await Promise.all(acknowledged.map(({ body }) => store.event(body.id ?? '')));
  expect(found.filter((event) => event === undefined)).toEqual([]);
}

describe('a full disk', () => {
  test('is answered 503 while it lasts, when notifications keep coming, and 200 once there is room, with nothing lost', async () => {
    disk = mountSmallDisk('size=16m');
    if (!disk) return;
    service = await runService({ media_available() {} }, { DATABASE_URL: `sqlite:${disk.path}/receiver.db` });
    const { url } = service;
    const acknowledged: Answer[] = [];
    for (let number = 0; number < 20; number++) acknowledged.push(await send(url, largeBody(number)));
    disk.fill();
    const refused: Answer[] = [];
    for (let number = 20; number < 20 + TOO_MANY; number += 10) {
      const batch = Array.from({ length: 10 }, (_, index) => send(url, largeBody(number + index)));
      for (const answer of await Promise.all(batch)) {
        (answer.status === 200 ? acknowledged : refused).push(answer);
      }
    }
    expect(refused.length).toBeGreaterThan(TOO_MANY / 4);
    expect(refused).toEqual(refused.map(() => REFUSED));
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    disk.clear();
    for (let number = 20 + TOO_MANY; number < 40 + TOO_MANY; number++)
      acknowledged.push(await send(url, largeBody(number)));
    expect(acknowledged.map(({ status }) => status)).toEqual(acknowledged.map(() => 200));
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await expectRecorded(service, acknowledged);
    expect(await service.store.count({})).toBe(acknowledged.length);
    process.stdout.write(
      `full disk: ${acknowledged.length} acknowledged and kept, ${refused.length} refused\n`,
    );
  });

  test('is told by a service that was ready, with 503, and 200 once there is room, without a notification in between', async () => {
    disk = mountSmallDisk('size=8m');
    if (!disk) return;
    service = await runService({}, { DATABASE_URL: `sqlite:${disk.path}/receiver.db` });
    const { url } = service;
    const readiness = async () => (await fetch(`${url}/readyz`)).status;
    expect([await readiness(), await readiness()]).toEqual([200, 200]);
    for (let round = 0; round < 2; round++) {
      disk.fill();
      expect([await readiness(), await readiness()]).toEqual([503, 503]);
      disk.clear();
      expect([await readiness(), await readiness()]).toEqual([200, 200]);
    }
    expect((await deliver(url, bodyOf(1))).status).toBe(200);
  });
});

describe('a database that is moved away', () => {
  test('is answered 503 while it is gone, when its directory was renamed, and 200 once it is back', async () => {
    service = await runService({}, {}, { threads: OWN_THREADS });
    const { url, path } = service;
    const directory = join(path, '..');
    const before = await send(url, bodyOf(1));
    renameSync(directory, `${directory}-away`);
    expect(await send(url, bodyOf(2))).toEqual(REFUSED);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    mkdirSync(directory); // an empty one in its place does not count
    expect(await send(url, bodyOf(3))).toEqual(REFUSED);
    renameSync(`${directory}-away`, directory);
    const after = await send(url, bodyOf(4));
    expect([before.status, after.status]).toEqual([200, 200]);
    await expectRecorded(service, [before, after]);
    expect(await service.store.count({})).toBe(2);
  });

  test('is answered 503, when another file took its name, as what is recorded could not be found again', async () => {
    service = await runService({}, {}, { threads: OWN_THREADS });
    const { url, path } = service;
    renameSync(path, `${path}.old`);
    new Database(path).close();
    expect(await send(url, bodyOf(1))).toEqual(REFUSED);
    renameSync(`${path}.old`, path);
    expect((await send(url, bodyOf(1))).status).toBe(200);
  });
});

describe('a database that another program holds', () => {
  test('is answered 503 after its time-out and once for all who waited, when the lock stays, with nothing recorded, and 200 after it', async () => {
    service = await runService({}, {});
    const { url, path, store } = service;
    const other = new Database(path);
    other.exec('BEGIN IMMEDIATE');
    // More than fit into one commit: the last are not to wait for many time-outs, one after the other.
    const waiting = Array.from({ length: size({ small: 550, full: 1500 }) }, (_, number) =>
      send(url, bodyOf(number)),
    );
    const answers = await Promise.all(waiting);
    expect(answers).toEqual(answers.map(() => REFUSED));
    other.exec('COMMIT');
    other.close();
    expect((await send(url, bodyOf(0))).status).toBe(200);
    expect(await store.count({})).toBe(1);
  }, 60_000);
});
