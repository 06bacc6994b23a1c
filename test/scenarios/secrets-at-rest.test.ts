import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { runCli } from '../support/run-cli.ts';
import { startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MORE = Array.from({ length: 50 }, (_, number) => `another-secret-number-${number}-of-this-webhook`);

let directory: string;
let copy: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  copy = await temporaryDirectory();
});

afterEach(() => {
  rmSync(directory, { recursive: true });
  rmSync(copy, { recursive: true });
});

/** Ways in which a secret may stand in a file. */
function formsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret);
  const texts = [
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    encodeURIComponent(secret),
  ];
  return [bytes, Buffer.from(secret, 'utf16le'), ...texts.map((text) => Buffer.from(text))];
}

test('a copy of the database without its key shows no secret, when the server is killed under traffic with its log unwritten', async () => {
  const path = join(directory, 'receiver.db');
  const env = { DATABASE_URL: `sqlite:${path}`, LOG_LEVEL: 'trace' };
  for (const secret of [SECRET, ...MORE.slice(0, 3)]) {
    const run = await runCli(['webhooks', 'import', '--id', 'hook0001'], { env, stdin: secret });
    expect(run.code).toBe(0);
  }
  const service = await startProcess(env);
  const store = await SqliteStore.open({ path, clock: systemClock, threads: false });
  for (const secret of MORE) await store.addSecret('hook0002', secret);
  for (let number = 0; number < 20; number++)
    expect((await deliver(service.url, bodyOf(number))).status).toBe(200);
  for (const secret of MORE.slice(0, 10)) await store.retireSecret('hook0002', secret, systemClock.now());
  cpSync(directory, copy, { recursive: true });
  service.child.kill('SIGKILL');
  await service.exited;
  await store.close();
  cpSync(directory, join(copy, 'after'), { recursive: true });

  const files = readdirSync(copy, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map(({ name }) => name)).toContain('receiver.db-wal');
  const forms = [SECRET, ...MORE].flatMap(formsOf);
  const showing = files.filter(({ parentPath, name }) => {
    const bytes = readFileSync(join(parentPath, name));
    return forms.some((form) => bytes.includes(form));
  });
  expect(showing).toEqual([]);
  expect(forms.some((form) => service.output().includes(form.toString()))).toBe(false);

  rmSync(join(copy, 'receiver.db.key'));
  const without = SqliteStore.open({ path: join(copy, 'receiver.db'), clock: systemClock });
  await expect(without).rejects.toMatchObject({ code: 'STORE_UNUSABLE' });
});
