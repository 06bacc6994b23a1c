import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { runCli } from '../support/run-cli.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const KEY = randomBytes(32);
const SECRETS = [
  { webhookId: 'hook0001', secret: 'the secret of hook0001' },
  { webhookId: 'hook0001', secret: 'another secret of hook0001' },
  { webhookId: 'hook0002', secret: 'Ünïcode 🔑' },
];

/** Those stored within one millisecond come in any order. */
function inOrder<T extends { readonly secret: string }>(secrets: readonly T[]): T[] {
  return secrets.toSorted((one, other) => (one.secret < other.secret ? -1 : 1));
}

let directory: string;
let path: string;
let url: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
  url = `sqlite:${path}`;
});

afterEach(() => rmSync(directory, { recursive: true }));

async function withStore<T>(
  secretsKey: Buffer | undefined,
  use: (store: SqliteStore) => Promise<T>,
): Promise<T> {
  const store = await SqliteStore.open({ path, clock: systemClock, secretsKey, threads: false });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

const fill = (secretsKey?: Buffer) =>
  withStore(secretsKey, async (store) => {
    for (const { webhookId, secret } of SECRETS) await store.addSecret(webhookId, secret);
    await store.addSecret('hook0003', 'retired');
    await store.retireSecret('hook0003', 'retired', systemClock.now());
  });

const expectSecrets = (secretsKey?: Buffer) =>
  withStore(secretsKey, async (store) => {
    expect(inOrder(await store.secrets())).toMatchObject(inOrder(SECRETS));
    // What tells a secret from others is made anew too: known ones are found, whether live or retired.
    expect(await store.retireSecret('hook0003', 'retired', systemClock.now())).toBe(true);
    await store.addSecret('hook0001', 'the secret of hook0001');
    expect(await store.secrets()).toHaveLength(SECRETS.length);
  });

/** Everything sealed that is in the database, as bytes. */
function sealedIn(): Buffer[] {
  const db = new Database(path, { readonly: true });
  const rows = db.prepare<[], Buffer>('SELECT sealed FROM secrets').pluck().all();
  db.close();
  return rows;
}

const rekey = (args: readonly string[] = [], env: Readonly<Record<string, string>> = {}, stdin = '') =>
  runCli(['secrets', 'rekey', ...args], { env: { DATABASE_URL: url, ...env }, stdin });

describe('secrets rekey', () => {
  test('seals all secrets again, when the key is in a file, under a new key that only its owner can read', async () => {
    await fill();
    const [before, sealed] = [readFileSync(`${path}.key`), sealedIn()];
    const run = await rekey();
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toMatch(/^4 secrets are sealed under the new key; .*back that up/);
    expect(readFileSync(`${path}.key`).equals(before)).toBe(false);
    expect(statSync(`${path}.key`).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory).toSorted()).toEqual(['receiver.db', 'receiver.db.key']);
    const file = readFileSync(path);
    expect(sealed.filter((bytes) => file.includes(bytes))).toEqual([]);
    await expectSecrets();
  });

  test.each(['stdin', 'a file'])(
    'seals all anew, when the key is SECRETS_KEY and the new one comes by %s, and the old one opens nothing',
    async (by) => {
      await fill(KEY);
      const next = randomBytes(32);
      const text = `${next.toString('base64')}\n`;
      const file = join(directory, 'next.txt');
      writeFileSync(file, text);
      const env = { SECRETS_KEY: KEY.toString('base64') };
      const run =
        by === 'stdin'
          ? await rekey(['--json'], env, text)
          : await rekey(['--json', '--secret-file', file], env);
      expect(run).toEqual({ code: 0, stdout: '{"sealed":4,"scrubbed":true}\n', stderr: '' });
      await expectSecrets(next);
      await expect(withStore(KEY, async () => {})).rejects.toMatchObject({ code: 'STORE_UNUSABLE' });
      expect(readdirSync(directory)).not.toContain('receiver.db.key');
    },
  );

  test('refuses with 2, when the new key is none, or the one in use, or given where it is in a file, and changes nothing', async () => {
    await fill(KEY);
    const env = { SECRETS_KEY: KEY.toString('base64') };
    const before = readFileSync(path);
    const runs = [
      await rekey([], env, 'too short'),
      await rekey([], env, ''),
      await rekey([], env, KEY.toString('base64')),
      await rekey(['--secret-file', join(directory, 'nowhere')], env),
      await rekey(['--secret-file', path]),
    ];
    expect(runs.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2]);
    for (const { stderr } of runs) {
      expect(stderr).toMatch(/^hookkit: [^\n]+\n$/);
      expect(stderr).not.toContain(KEY.toString('base64'));
    }
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('leaves the old key working, when it ends before its commit, and is done again', async () => {
    await fill();
    writeFileSync(`${path}.key.next-0badcafe`, `${randomBytes(32).toString('base64')}\n`);
    writeFileSync(`${path}.key.next-deadbeef`, 'half a k');
    await expectSecrets();
    expect((await rekey()).code).toBe(0);
    await expectSecrets();
  });

  test('leaves the new key working, when it ends between its commit and the change of the key file', async () => {
    await fill();
    const before = readFileSync(`${path}.key`);
    expect((await rekey()).code).toBe(0);
    const after = readFileSync(`${path}.key`);
    renameSync(`${path}.key`, `${path}.key.next-0badcafe`);
    writeFileSync(`${path}.key`, before);
    await expectSecrets();
    expect(readFileSync(`${path}.key`).equals(after)).toBe(true);
    expect(readdirSync(directory)).not.toContain('receiver.db.key.next-0badcafe');
  });

  test('is told from a wrong key file, which is refused as ever', async () => {
    await fill();
    expect((await rekey()).code).toBe(0);
    writeFileSync(`${path}.key`, `${randomBytes(32).toString('base64')}\n`);
    await expect(withStore(undefined, async () => {})).rejects.toMatchObject({ code: 'STORE_UNUSABLE' });
  });

  test('lets other processes go on, when they have the database open, to read, add and retire secrets', async () => {
    await fill();
    await withStore(undefined, async (store) => {
      expect((await rekey()).code).toBe(0);
      await store.addSecret('hook0004', 'stored after it');
      expect((await rekey()).code).toBe(0);
      expect(await store.retireSecret('hook0004', 'stored after it', systemClock.now())).toBe(true);
      expect((await rekey()).code).toBe(0);
      expect(inOrder(await store.secrets())).toMatchObject(inOrder(SECRETS));
    });
    await expectSecrets();
  });

  test('loses nothing, when several run at once, and the last one’s key is in the file', async () => {
    await fill();
    const runs = await Promise.all(Array.from({ length: 4 }, () => rekey()));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    await expectSecrets();
  });
});
