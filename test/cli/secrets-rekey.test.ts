import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { databaseForEachTest, ENGINE, testOfFiles } from '../support/engine.ts';
import { SECRETS_KEY } from '../support/postgres-databases.ts';
import { runCli } from '../support/run-cli.ts';

/** A database on PostgreSQL has a key from the first. */
const KEY = ENGINE === 'postgres' ? SECRETS_KEY : randomBytes(32);
const SECRET = 'Ünïcode 🔑';

const database = databaseForEachTest();

async function fill(key?: Buffer): Promise<void> {
  const store = await database().open(key);
  await store.addSecret('hook0001', SECRET);
  await store.close();
}

/** The secrets that a key opens. */
async function openedBy(key?: Buffer): Promise<string[]> {
  const store = await database().open(key);
  const secrets = await store.secrets();
  await store.close();
  return secrets.map(({ secret }) => secret);
}

const rekey = (args: readonly string[] = [], env: Readonly<Record<string, string>> = {}, stdin = '') =>
  runCli(['secrets', 'rekey', ...args], { env: { ...database().env, ...env }, stdin });

// Only a file has a key file beside it.
testOfFiles(
  'secrets rekey makes a new key file, when the key is in one, which only its owner reads',
  async () => {
    await fill();
    const file = join(database().directory, 'receiver.db.key');
    const before = readFileSync(file, 'utf8');
    const run = await rekey();
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toMatch(/^1 secrets are sealed under the new key; .*back that up/);
    expect(readFileSync(file, 'utf8')).not.toBe(before);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await openedBy()).toEqual([SECRET]);
  },
);

test('secrets rekey takes the new key from stdin, when the key is SECRETS_KEY, and the old one opens nothing', async () => {
  await fill(KEY);
  const next = randomBytes(32);
  const run = await rekey(['--json'], { SECRETS_KEY: KEY.toString('base64') }, next.toString('base64'));
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(run.stdout)).toEqual({ sealed: 1 });
  expect(await openedBy(next)).toEqual([SECRET]);
  await expect(openedBy(KEY)).rejects.toMatchObject({ code: 'STORE_UNUSABLE' });
});

test('secrets rekey refuses with 2, when the new key is none, or the one in use, or given where it is in a file, and changes nothing', async () => {
  await fill(KEY);
  const env = { SECRETS_KEY: KEY.toString('base64') };
  const runs = [
    await rekey([], env, 'too short'),
    await rekey([], env, KEY.toString('base64')),
    await rekey(['--secret-file', 'any'], { SECRETS_KEY: '' }),
  ];
  expect(runs.map(({ code }) => code)).toEqual([2, 2, 2]);
  for (const { stderr } of runs) expect(stderr).not.toContain(KEY.toString('base64'));
  expect(await openedBy(KEY)).toEqual([SECRET]);
});
