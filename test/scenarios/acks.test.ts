import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { bodyOf, deliver } from '../support/notifications.ts';
import { type RunningService, runService } from '../support/running-service.ts';
import { size } from '../support/sizes.ts';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';

let service: RunningService;
let disk: SmallDisk | undefined;
afterEach(async () => {
  await service?.stop();
  disk?.remove();
  disk = undefined;
});

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: { readonly status?: string; readonly id?: string; readonly error?: string };
}

async function send(body: string): Promise<Answer> {
  const response = await deliver(service.url, body);
  const { status, headers } = response;
  return { status, retryAfter: headers.get('retry-after'), body: (await response.json()) as Answer['body'] };
}

const statusOf = async (path: string) => (await fetch(`${service.url}${path}`)).status;

/** What each refusal must look like while the trouble lasts. */
const REFUSED = { status: 503, retryAfter: expect.stringMatching(/^\d+$/), body: { error: 'not recorded' } };

async function expectRecorded(acknowledged: readonly Answer[]): Promise<void> {
  expect(acknowledged.map(({ status }) => status)).toEqual(acknowledged.map(() => 200));
  for (const { body } of acknowledged)
    expect(await service.store.queue.event({ id: body.id ?? '' })).toBeDefined();
  expect(await service.store.queue.count({})).toBe(acknowledged.length);
}

test('a full disk is answered 503 and told by /readyz while it lasts, and 200 once there is room, with nothing lost', async () => {
  disk = mountSmallDisk('size=16m');
  if (!disk) return;
  service = await runService({ media_available() {} }, { DATABASE_URL: `sqlite:${disk.path}/receiver.db` });
  // As large as a notification may be, so that a small disk is soon full.
  const large = (number: number) =>
    send(JSON.stringify({ ...JSON.parse(bodyOf(number)), note: 'x'.repeat(40_000) }));
  const acknowledged: Answer[] = [];
  for (let number = 0; number < 20; number++) acknowledged.push(await large(number));
  disk.fill();
  const answers: Answer[] = [];
  const tooMany = size({ small: 60, full: 380 });
  for (let number = 20; number < 20 + tooMany; number += 10)
    answers.push(...(await Promise.all(Array.from({ length: 10 }, (_, index) => large(number + index)))));
  const refused = answers.filter(({ status }) => status !== 200);
  acknowledged.push(...answers.filter(({ status }) => status === 200));
  expect(refused.length).toBeGreaterThan(tooMany / 4);
  expect(refused).toEqual(refused.map(() => REFUSED));
  expect([await statusOf('/readyz'), await statusOf('/healthz')]).toEqual([503, 200]);
  disk.clear();
  for (let number = 1000; number < 1020; number++) acknowledged.push(await large(number));
  expect(await statusOf('/readyz')).toBe(200);
  await expectRecorded(acknowledged);
});

test('a database that is moved away is answered 503 while it is gone or another is in its place, and 200 once it is back', async () => {
  service = await runService({});
  const { path } = service;
  const directory = join(path, '..');
  const before = await send(bodyOf(1));
  renameSync(directory, `${directory}-away`);
  expect(await send(bodyOf(2))).toEqual(REFUSED);
  expect(await statusOf('/readyz')).toBe(503);
  mkdirSync(directory); // an empty one in its place does not count
  expect(await send(bodyOf(3))).toEqual(REFUSED);
  renameSync(`${directory}-away`, directory);
  renameSync(path, `${path}.old`);
  new Database(path).close();
  expect(await send(bodyOf(4))).toEqual(REFUSED);
  renameSync(`${path}.old`, path);
  await expectRecorded([before, await send(bodyOf(5))]);
});

test('a database that another program holds is answered 503 after its time-out, once for all who waited, and 200 after it', async () => {
  service = await runService({}, {}, { threads: true });
  const other = new Database(service.path);
  other.exec('BEGIN IMMEDIATE');
  // More than fit into one commit: the last are not to wait for many time-outs, one after the other.
  const waiting = Array.from({ length: size({ small: 550, full: 1500 }) }, (_, number) =>
    send(bodyOf(number)),
  );
  const answers = await Promise.all(waiting);
  expect(answers).toEqual(answers.map(() => REFUSED));
  other.exec('COMMIT');
  other.close();
  await expectRecorded([await send(bodyOf(0))]);
});
