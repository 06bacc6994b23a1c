import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { checkClock } from '../../../src/cli/doctor/clock.ts';
import { checkDatabase } from '../../../src/cli/doctor/database.ts';
import { checkDisk } from '../../../src/cli/doctor/disk.ts';
import { checkKeyFile } from '../../../src/cli/doctor/key-file.ts';
import { checkNode } from '../../../src/cli/doctor/node.ts';
import { reach } from '../../../src/cli/doctor/reach.ts';
import { whyUnreachable } from '../../../src/cli/doctor/why-unreachable.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { listeningOn } from '../../mock/support/listening.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

let directory: string;
let path: string;
const closers: (() => Promise<void>)[] = [];
beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  rmSync(directory, { recursive: true, force: true });
});

async function answering(status: number, headers: Record<string, string>, body = ''): Promise<string> {
  const { url, close } = await listeningOn(
    createServer((_request, response) => {
      response.sendDate = !('Date' in headers) && !('X-No-Date' in headers);
      response.writeHead(status, headers).end(body);
    }),
  );
  closers.push(close);
  return url;
}

async function makeDatabase(): Promise<void> {
  const store = await SqliteStore.open({ path, clock: new VirtualClock() });
  await store.close();
}

test.each([
  ['24.21.0', 'ok'],
  ['26.0.0', 'ok'],
  ['25.1.0', 'warn'],
  ['22.20.0', 'FAIL'],
])('tells whether Node will do, when it is %s: %s', (version, result) => {
  expect(checkNode(version).result).toBe(result);
});

describe('the database', () => {
  test('is only missed, when it is not there, and is not made', () => {
    expect(checkDatabase(path)).toMatchObject({ isUsable: false, finding: { result: 'warn' } });
    expect(checkDatabase(path).finding.detail).toContain('there is none');
  });

  test('is well, when a store has made it', async () => {
    await makeDatabase();
    expect(checkDatabase(path)).toMatchObject({ isUsable: true, finding: { result: 'ok' } });
  });

  test.each([
    [0, 'warn'],
    [999, 'FAIL'],
  ])('is not touched, when its schema has version %d: %s', async (version, result) => {
    await makeDatabase();
    const db = new Database(path);
    db.pragma(`user_version = ${version}`);
    db.close();
    expect(checkDatabase(path)).toMatchObject({ isUsable: false, finding: { result } });
    const after = new Database(path, { readonly: true });
    expect(after.pragma('user_version', { simple: true })).toBe(version);
    after.close();
  });

  test('fails, when it is damaged or no database', async () => {
    writeFileSync(path, 'this is no database, but a text that is long enough to be looked at'.repeat(100));
    expect(checkDatabase(path)).toMatchObject({ isUsable: false, finding: { result: 'FAIL' } });
  });
});

describe('the disk', () => {
  test('is well, when there is room and it can be written to, also before the directory is there', () => {
    expect(checkDisk(join(directory, 'not', 'yet', 'receiver.db')).result).not.toBe('FAIL');
    expect(checkDisk(path).detail).toMatch(/ is writable, \d+ MiB free/);
  });

  (process.getuid?.() === 0 ? test.skip : test)('fails, when the directory may not be written to', () => {
    mkdirSync(join(directory, 'closed'), { mode: 0o500 });
    expect(checkDisk(join(directory, 'closed', 'receiver.db')).result).toBe('FAIL');
  });
});

describe('the key file', () => {
  test.each([
    [0o600, 'ok'],
    [0o400, 'ok'],
    [0o640, 'FAIL'],
    [0o644, 'FAIL'],
  ])('is judged, when its mode is %o: %s', (mode, result) => {
    const key = `${path}.key`;
    writeFileSync(key, '');
    chmodSync(key, mode);
    const finding = checkKeyFile(key, { SECRETS_KEY: undefined });
    expect(finding.result).toBe(result);
    expect(finding.detail).toContain(mode.toString(8));
  });

  test('is not needed, when SECRETS_KEY is set', () => {
    expect(checkKeyFile(`${path}.key`, { SECRETS_KEY: Buffer.alloc(32) }).result).toBe('ok');
  });
});

describe('the clock', () => {
  const now = Date.UTC(2026, 0, 1);
  test.each([
    [0, 'ok'],
    [-4000, 'ok'],
    [20_000, 'warn'],
    [-31_500, 'FAIL'],
    [3_600_000, 'FAIL'],
  ])('is judged, when the provider is %d ms ahead: %s', async (ahead, result) => {
    const url = await answering(404, { Date: new Date(now + ahead).toUTCString() });
    expect((await checkClock(url, new VirtualClock(now))).result).toBe(result);
  });

  test('is not judged, when the provider tells no time or does not answer', async () => {
    const url = await answering(200, { 'X-No-Date': '1' });
    expect((await checkClock(url, new VirtualClock(now))).result).toBe('skipped');
    expect(await checkClock('http://127.0.0.1:9', new VirtualClock(now))).toMatchObject({
      result: 'skipped',
    });
  });
});

describe('a URL', () => {
  const challenge = { 'WWW-Authenticate': 'Bearer' };
  test.each([
    ['a receiver of ours', 401, challenge, '{"error":"..."}', 'ok'],
    ['a receiver that stops', 503, {}, '{"error":"shutting down"}', 'warn'],
    ['a 401 of somebody else', 401, { 'WWW-Authenticate': 'Basic' }, '', 'FAIL'],
    ['a 401 with other words', 401, challenge, '{"message":"no"}', 'FAIL'],
    ['a receiver that takes anything', 200, {}, 'ok', 'FAIL'],
    ['a proxy without its service', 502, {}, 'Bad Gateway', 'FAIL'],
    ['a redirect', 308, { Location: 'https://else.where/' }, '', 'FAIL'],
  ])('is judged, when it leads to %s', async (_case, status, headers, body, result) => {
    expect((await reach(await answering(status, headers, body))).result).toBe(result);
  });

  test('fails with the reason, when nobody listens there', async () => {
    const { url, close } = await listeningOn(createServer());
    await close();
    expect(await reach(url)).toMatchObject({
      result: 'FAIL',
      detail: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test.each(['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID'])(
    'points at the certificate, when TLS fails with %s',
    (code) => {
      const error = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) });
      expect(whyUnreachable(error)).toMatch(new RegExp(`^TLS: ${code}`));
    },
  );
});
