import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { databaseForEachTest, ENGINE, testOfFiles } from '../support/engine.ts';
import { SECRETS_KEY } from '../support/postgres-databases.ts';
import { runCli } from '../support/run-cli.ts';

/** A database on PostgreSQL has a key from the first. */
const KEY = ENGINE === 'postgres' ? SECRETS_KEY : randomBytes(32);
const SECRETS = [
  { webhookId: 'hook0001', secret: 'the secret of hook0001' },
  { webhookId: 'hook0001', secret: 'another secret of hook0001' },
  { webhookId: 'hook0002', secret: 'Ünïcode 🔑' },
];

const textsOf = (secrets: readonly { readonly secret: string }[]) =>
  secrets.map(({ secret }) => secret).toSorted();

const database = databaseForEachTest();
let directory: string;
/** where the database is a file */
let path: string;

beforeEach(() => {
  directory = database().directory;
  path = join(directory, 'receiver.db');
});

async function withStore<T>(
  secretsKey: Buffer | undefined,
  use: (store: EventStore) => Promise<T>,
): Promise<T> {
  const store = await database().open(secretsKey);
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
    expect(textsOf(await store.secrets())).toEqual(textsOf(SECRETS));
    // What tells a secret from others is made anew too: known ones are found, whether live or retired.
    expect(await store.retireSecret('hook0003', 'retired', systemClock.now())).toBe(true);
    await store.addSecret('hook0001', 'the secret of hook0001');
    expect(await store.secrets()).toHaveLength(SECRETS.length);
  });

/** Everything sealed that is in the file of the database. */
function sealedInFile(): string[] {
  const db = new Database(path, { readonly: true });
  const rows = db.prepare<[], string>('SELECT sealed FROM secrets').pluck().all();
  db.close();
  return rows;
}

const rekey = (args: readonly string[] = [], env: Readonly<Record<string, string>> = {}, stdin = '') =>
  runCli(['secrets', 'rekey', ...args], { env: { ...database().env, ...env }, stdin });

// Only a file has a key file beside it, which other processes read again.
testOfFiles(
  'secrets rekey seals all secrets again, when the key is in a file, under a new key that only its owner can read',
  async () => {
    await fill();
    const [before, sealed] = [readFileSync(`${path}.key`), sealedInFile()];
    const run = await rekey();
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toMatch(/^4 secrets are sealed under the new key; .*back that up/);
    expect(readFileSync(`${path}.key`).equals(before)).toBe(false);
    expect(statSync(`${path}.key`).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory).toSorted()).toEqual(['receiver.db', 'receiver.db.key']);
    const file = readFileSync(path);
    expect(sealed.filter((text) => file.includes(text))).toEqual([]);
    await expectSecrets();
  },
);

test('secrets rekey seals all anew, when the key is SECRETS_KEY and the new one comes on stdin, and the old one opens nothing', async () => {
  await fill(KEY);
  const next = randomBytes(32);
  const env = { SECRETS_KEY: KEY.toString('base64') };
  const run = await rekey(['--json'], env, `${next.toString('base64')}\n`);
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(run.stdout)).toEqual({ sealed: 4 });
  await expectSecrets(next);
  await expect(withStore(KEY, async () => {})).rejects.toMatchObject({ code: 'STORE_UNUSABLE' });
  expect(readdirSync(directory)).not.toContain('receiver.db.key');
});

test('secrets rekey refuses with 2, when the new key is none, or the one in use, or given where it is in a file, and changes nothing', async () => {
  await fill(KEY);
  const env = { SECRETS_KEY: KEY.toString('base64') };
  const runs = [
    await rekey([], env, 'too short'),
    await rekey([], env, KEY.toString('base64')),
    await rekey(['--secret-file', path], { SECRETS_KEY: '' }),
  ];
  expect(runs.map(({ code }) => code)).toEqual([2, 2, 2]);
  for (const { stderr } of runs) expect(stderr).not.toContain(KEY.toString('base64'));
  await expectSecrets(KEY);
});
