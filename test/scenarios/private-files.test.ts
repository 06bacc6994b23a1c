import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { keyOf, signNotification } from '../../src/notification/token.ts';
import { openStore } from '../../src/store/open.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { runCli } from '../support/run-cli.ts';
import { startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let data: string;
let env: Readonly<Record<string, string>>;
const umask = process.umask();
beforeEach(async () => {
  data = join(await temporaryDirectory(), 'data');
  env = { DATABASE_URL: `sqlite:${join(data, 'receiver.db')}`, WEBHOOK_SECRET: SECRET };
});
afterEach(() => void process.umask(umask));

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe('the files of a database', () => {
  test.each([0o000, 0o022])('are for their owner alone, when the umask is %o', async (mask) => {
    process.umask(mask);
    const service = await startProcess(env);
    expect((await deliver(service.url, bodyOf(1))).status).toBe(200);
    const modes = Object.fromEntries(readdirSync(data).map((name) => [name, modeOf(join(data, name))]));
    expect(modes).toMatchObject({ 'receiver.db': '600', 'receiver.db-wal': '600', 'receiver.db.key': '600' });
    expect(new Set(Object.values(modes))).toEqual(new Set(['600']));
    expect(modeOf(data)).toBe('700');
  });

  test('leave a directory that is there already as it is', async () => {
    mkdirSync(data, { mode: 0o755 });
    await startProcess(env);
    expect(modeOf(data)).toBe('755');
  });
});

/** All that is sealed in the database now. */
function sealedIn(): string[] {
  const db = new Database(join(data, 'receiver.db'), { readonly: true });
  const sealed = db.prepare<[], string>(
    "SELECT sealed FROM secrets UNION ALL SELECT value FROM meta WHERE name = 'key_check'",
  );
  const texts = sealed.pluck().all();
  db.close();
  return texts;
}

/** How many of these texts are in any file beside the database, whole or from their middle on. */
function found(texts: readonly string[]): number {
  const files = readdirSync(data).map((name) => readFileSync(join(data, name)));
  return texts.filter((text) => files.some((file) => file.includes(text.slice(text.length >> 1)))).length;
}

/** Secrets of several lengths, so that rows move between pages, and some do not fit into one. */
async function addSecrets(count: number): Promise<void> {
  const store = await openStore({ url: env.DATABASE_URL ?? '', clock: systemClock, threads: false });
  for (let number = 0; number < count; number++)
    await store.addSecret(`hook${number}`, `${number}-`.repeat(10 + ((number * 37) % 400)));
  await store.close();
}
const rekey = () => runCli(['secrets', 'rekey', '--json'], { env });

describe('what the former key sealed', () => {
  test('is in none of the files, when all was sealed under a new key', async () => {
    await addSecrets(20);
    const before = sealedIn();
    expect(found(before)).toBe(21);
    expect(await rekey()).toMatchObject({ code: 0 });
    expect(found(before)).toBe(0);
    expect(found(sealedIn())).toBe(21);
  });

  test('is in none of the files, when a server ran beside the change, took every notification, and learns new secrets', async () => {
    const { url } = await startProcess(env);
    await addSecrets(5);
    const before = sealedIn();
    const statuses = new Set<number>();
    let isOn = true;
    const sending = (async () => {
      for (let number = 0; isOn; number++) statuses.add((await deliver(url, bodyOf(number))).status);
    })();
    for (let round = 0; round < 2; round++) expect(await rekey()).toMatchObject({ code: 0 });
    isOn = false;
    await sending;
    expect(found(before)).toBe(0);
    expect([...statuses]).toEqual([200]);
    await runCli(['webhooks', 'import', '--id', 'hook0001'], { env, stdin: 'quite-another-secret' });
    const body = bodyOf(1);
    const headers = { authorization: `Bearer ${signNotification(body, keyOf('quite-another-secret'))}` };
    expect((await fetch(`${url}/webhooks/media`, { method: 'POST', headers, body })).status).toBe(200);
  });
});
