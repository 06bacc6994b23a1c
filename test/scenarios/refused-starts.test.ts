import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { openAsOther } from '../support/engine.ts';
import { refusalIn, runCli } from '../support/run-cli.ts';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { verified } from '../support/verified-notification.ts';

const fileOf = directoryForEachTest();
let path: string;
let disk: SmallDisk | undefined;
beforeEach(() => {
  path = fileOf('receiver.db');
});
afterEach(() => {
  disk?.remove();
  disk = undefined;
});

const open = () => openAsOther(`sqlite:${path}`);

/** A database with one event and one sealed secret. */
async function makeDatabase(): Promise<void> {
  const store = await open();
  await store.queue.record(verified());
  await store.secrets.add('hook0001', 'the secret of hook0001');
  await store.close();
}

/** The store has to refuse it in one line that says what to do. */
async function expectRefusal(...parts: readonly string[]): Promise<void> {
  const refusal = await open().then(
    () => 'it opens',
    ({ message }) => message,
  );
  for (const part of parts) expect(refusal).toContain(part);
  expect(refusal).not.toContain('\n');
}

/** So has `hookkit serve`, in its log, and ends with 1. */
async function expectEnd(...parts: readonly string[]): Promise<void> {
  const env = { PORT: '0', ADMIN_PORT: '0', DATABASE_URL: `sqlite:${path}` };
  const run = await runCli(['serve'], { env });
  expect(run).toEqual({ code: 1, stdout: expect.stringMatching(/^[^\n]+\n$/), stderr: '' });
  for (const part of [...parts, /^[^\n]+$/]) expect(refusalIn(run)).toMatch(part);
}

test('a start is refused in one line, when the database is of a newer version, with both versions, and leaves it as it is', async () => {
  await makeDatabase();
  const db = new Database(path);
  db.pragma('user_version = 99');
  db.close();
  const before = readFileSync(path);
  await expectEnd(path, 'schema version 99', 'run the newer program that has used it');
  expect(readFileSync(path).equals(before)).toBe(true);
});

test('a start is refused in one line, when the key file is another, no key, or gone, and goes well once it is back', async () => {
  await makeDatabase();
  const right = readFileSync(`${path}.key`);
  writeFileSync(`${path}.key`, randomBytes(32).toString('base64'));
  await expectEnd('do not open with this key', 'SECRETS_KEY');
  writeFileSync(`${path}.key`, 'no key');
  await expectRefusal(`${path}.key does not hold a key`);
  rmSync(`${path}.key`);
  await expectRefusal(`${path}.key is missing`, 'restore the key file');
  expect(existsSync(`${path}.key`)).toBe(false);
  writeFileSync(`${path}.key`, right);
  const store = await open();
  expect(await store.secrets.live()).toMatchObject([{ secret: 'the secret of hook0001' }]);
  await store.close();
});

test.each<[string, () => unknown, readonly string[]]>([
  [
    'the file is no database',
    () => writeFileSync(path, 'somebody else’s file '.repeat(400)),
    ['not a database', 'restore a backup'],
  ],
  ['it is a directory', () => mkdirSync(path), ['is not a file', 'set another path in DATABASE_URL']],
])('a start is refused in one line, when %s', async (_what, make, parts) => {
  await make();
  await expectRefusal(path, ...parts);
});

test.each([
  ['can only be read', 'ro,size=1m', ['unable to open', 'allowed to write']],
  ['is full', 'size=1m', ['full', 'make room on its disk']],
])('a start is refused in one line, without half a key, when its disk %s', async (_, options, parts) => {
  disk = mountSmallDisk(options);
  if (!disk) return;
  if (parts[0] === 'full') disk.fill();
  path = join(disk.path, 'receiver.db');
  await expectRefusal(path, ...parts);
  expect(existsSync(`${path}.key`)).toBe(false);
});

test('a start is refused in one line, when its port is taken, with 1', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const run = await runCli(['serve'], {
    env: { HOST: '127.0.0.1', PORT: `${port}`, DATABASE_URL: `sqlite:${path}` },
  });
  holder.close();
  expect(run.code).toBe(1);
  expect(refusalIn(run)).toMatch(/^cannot listen on 127\.0\.0\.1:\d+: .*; change HOST and PORT$/);
});
