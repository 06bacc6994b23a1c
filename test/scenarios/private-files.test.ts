import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { runCli } from '../support/run-cli.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;
let path: string;
let service: ServiceProcess | undefined;
const umask = process.umask();

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'data', 'receiver.db');
});
afterEach(async () => {
  process.umask(umask);
  service?.child.kill('SIGKILL');
  await service?.exited;
  service = undefined;
  rmSync(directory, { recursive: true });
});

const env = () => ({ DATABASE_URL: `sqlite:${path}`, WEBHOOK_SECRET: SECRET });
const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe('the files of a database', () => {
  test.each([0o000, 0o022])('are for their owner alone, when the umask is %o', async (mask) => {
    process.umask(mask);
    service = await startProcess(env());
    expect((await deliver(service.url, bodyOf(1))).status).toBe(200);
    const data = join(directory, 'data');
    const modes = Object.fromEntries(readdirSync(data).map((name) => [name, modeOf(join(data, name))]));
    expect(modes).toMatchObject({ 'receiver.db': '600', 'receiver.db-wal': '600', 'receiver.db.key': '600' });
    expect(new Set(Object.values(modes))).toEqual(new Set(['600']));
    expect(modeOf(data)).toBe('700');
  });

  test('leave a directory that is there already as it is', async () => {
    mkdirSync(join(directory, 'data'), { mode: 0o755 });
    service = await startProcess(env());
    expect(modeOf(join(directory, 'data'))).toBe('755');
  });
});

/** All that is sealed in the database now. */
function sealedIn(): string[] {
  const db = new Database(path, { readonly: true });
  const sealed = db.prepare<[], string>(
    "SELECT sealed FROM secrets UNION ALL SELECT value FROM meta WHERE name = 'key_check'",
  );
  const texts = sealed.pluck().all();
  db.close();
  return texts;
}

/** How many of these texts are in any file beside the database, whole or from their middle on. */
function found(texts: readonly string[]): number {
  const data = join(directory, 'data');
  const files = readdirSync(data).map((name) => readFileSync(join(data, name)));
  return texts.filter((text) => files.some((file) => file.includes(text.slice(text.length >> 1)))).length;
}

/** Secrets of several lengths, so that rows move between pages, and some do not fit into one. */
const secretOf = (number: number) => `${number}-`.repeat(10 + ((number * 37) % 400));
const importSecret = (number: number) =>
  runCli(['webhooks', 'import', '--id', `hook${number}`], { env: env(), stdin: secretOf(number) });
const rekey = () => runCli(['secrets', 'rekey', '--json'], { env: env() });

describe('what the former key sealed', () => {
  test('is in none of the files, when all was sealed under a new key', async () => {
    service = await startProcess(env());
    service.child.kill('SIGTERM');
    await service.exited;
    for (let number = 0; number < 20; number++) expect((await importSecret(number)).code).toBe(0);
    const before = sealedIn();
    expect(found(before)).toBe(21);
    expect(await rekey()).toMatchObject({ code: 0 });
    expect(found(before)).toBe(0);
    expect(found(sealedIn())).toBe(21);
  });

  test('is in none of the files, when a server ran beside the change, and every notification was taken', async () => {
    service = await startProcess(env());
    const { url } = service;
    for (let number = 0; number < 5; number++) expect((await importSecret(number)).code).toBe(0);
    const before = sealedIn();
    const statuses = new Set<number>();
    let isOn = true;
    const sending = (async () => {
      for (let number = 0; isOn; number++) statuses.add((await deliver(url, bodyOf(number))).status);
    })();
    const run = await rekey();
    isOn = false;
    await sending;
    expect(run).toMatchObject({ code: 0 });
    expect(found(before)).toBe(0);
    expect([...statuses]).toEqual([200]);
  });
});
