import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const HANDLERS = join(import.meta.dirname, 'handlers/brief.ts');

test('a stop names every event whose result it could not store, and ends with 1, when another program locks the database', async () => {
  const path = join(await temporaryDirectory(), 'receiver.db');
  const env = { DATABASE_URL: `sqlite:${path}`, WEBHOOK_SECRET: SECRET, HANDLERS, SHUTDOWN_GRACE_MS: '3000' };
  const service = await startProcess(env);
  const ids: string[] = [];
  for (let number = 0; number < 3; number++) {
    const answer = await deliver(service.url, bodyOf(number));
    ids.push(((await answer.json()) as { id: string }).id);
  }
  const begun = () => service.output().match(/"msg":"it begins"/g)?.length;
  await eventually('all are at work', () => begun() === ids.length);
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE');
  service.child.kill('SIGTERM');
  expect(await service.exited).toBe(1);
  other.close();
  const written = service.output().split('\n');
  const lines = written.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  const named = lines.filter(({ msg }) => msg.startsWith('cannot store a result before the stop'));
  expect(named.map(({ event }) => event).toSorted()).toEqual(ids.toSorted());
  expect(lines.at(-1)).toMatchObject({ msg: expect.stringMatching(/did not stop in order/) });
  expect(lines.at(-1).error).not.toMatch(/took longer/);
}, 60_000);
