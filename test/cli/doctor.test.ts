import { chmodSync, copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Finding } from '../../src/base/finding.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { checkClock, reach } from '../../src/provider/checks.ts';
import { NO_TOKEN, PROBE_ANSWERS, THROTTLED, UNVERIFIED } from '../../src/receiver/verdict.ts';
import { NOWHERE, scripted } from '../provider/support.ts';
import { type Installation, install } from '../support/installation.ts';
import { present } from '../support/only.ts';
import { runCli } from '../support/run-cli.ts';
import { runService } from '../support/running-service.ts';

let here: Installation;
beforeEach(async () => {
  here = await install({}, 'sqlite');
});
afterEach(() => here.dispose());

/** What the doctor finds; it must end with `code`. */
async function findings(code: number, args: string[] = [], env: Record<string, string> = {}) {
  const run = await here.cli(['doctor', '--json', ...args], { env });
  expect({ code: run.code, stderr: code === 0 ? run.stderr : '' }).toEqual({ code, stderr: '' });
  const { ok, findings: all }: { ok: boolean; findings: Finding[] } = JSON.parse(run.stdout);
  expect(ok).toBe(code === 0);
  const of = (check: string) => present(all.find((finding) => finding.check === check));
  return { all, of };
}

test('names variables that may not be what is meant, without their values, as the server does, and a disk where none can write', async () => {
  const env = join(here.directory, '.env');
  const unquoted = 'hidden-hidden-hidden#hidden';
  const fine = `MY_OWN='hidden#hidden'\nDATABASE_POOL=9 # see hidden#hidden\nADMIN_NAMES="hidden"\n`;
  writeFileSync(env, `RETRY_MAX_ATTEMTPS=3\nADMIN_TOKN_FILE=hidden\nADMIN_TOKEN=${unquoted}\n${fine}`);
  const nowhere = { DATABASE_URL: 'sqlite:/proc/none/receiver.db', WEBHOOK_SECRET: "'hidden'" };
  const { stdout } = await here.cli(['doctor', '--offline', '--json'], { cwd: here.directory, env: nowhere });
  expect(stdout).not.toContain('hidden');
  const { findings: all }: { findings: Finding[] } = JSON.parse(stdout);
  const doubts = [
    'ADMIN_TOKN_FILE is set, but nothing reads it: is ADMIN_TOKEN_FILE meant?',
    'RETRY_MAX_ATTEMTPS is set, but nothing reads it: is RETRY_MAX_ATTEMPTS meant?',
    'the value of ADMIN_TOKEN ends before its #: put it in quotes in the file of settings',
    'the quotes around the value of WEBHOOK_SECRET count as a part of it',
  ];
  const warned = all.filter(({ check, result }) => check === 'configuration' && result === 'warn');
  expect(warned.map(({ detail }) => detail)).toEqual(doubts);
  const unusable = { ...here.env, ...nowhere, DATABASE_URL: `sqlite:${env}/receiver.db` }; // the start ends by itself
  const server = await runCli(['serve'], { cwd: here.directory, env: unusable });
  const lines = server.stdout.split('\n').filter(Boolean);
  const error = expect.stringContaining('its directory must exist');
  const told = [...doubts.map((reason) => ({ level: 'warn', reason })), { level: 'fatal', error }];
  expect(lines.map((line) => JSON.parse(line))).toMatchObject(told);
  expect(server.stdout + server.stderr).not.toContain('hidden');
  const disk = { check: 'disk', result: 'FAIL', detail: expect.stringMatching(/make room|may not write to/) };
  expect(all).toContainEqual(disk);
});

test('fails, when the database is damaged, and sends no request, when it is told to stay offline', async () => {
  await here.register('https://your.host/webhooks/media');
  here.provider.asked.length = 0;
  writeFileSync(here.path, Buffer.alloc(8192, 'x'));
  const { of } = await findings(1, ['--offline']);
  expect(of('database').result).toBe('FAIL');
  for (const check of ['clock', 'provider', 'url']) expect(of(check).result).toBe('skipped');
  expect(here.provider.asked).toEqual([]);
});

test('fails, when the registered URL leads elsewhere, but skips webhooks without a stored secret', async () => {
  const service = await runService({}, { ...here.env, WEBHOOK_SECRET: '' });
  await here.register(`${service.url}/elsewhere`);
  const stranger = here.foreignWebhook('http://127.0.0.1:9/hook');
  const { of } = await findings(1);
  expect(of('url')).toMatchObject({ result: 'FAIL', detail: expect.stringContaining('answers 404') });
  expect(of('webhook')).toMatchObject({ result: 'warn', detail: expect.stringContaining(stranger.id) });
});

test('warns of a key that its group may read, and says what helps, when a volume sets the mode of its files', async () => {
  await here.register('https://your.host/webhooks/media');
  for (const file of [here.path, `${here.path}.key`]) chmodSync(file, 0o660);
  const { of } = await findings(0, ['--offline']);
  expect(of('key')).toMatchObject({ result: 'warn', detail: expect.stringContaining('as SECRETS_KEY') });
});

const named = (file: string, text: string) => {
  writeFileSync(join(here.directory, file), text);
  return { HANDLERS: join(here.directory, file) };
};
const NEEDS = `export const app = { handlers: {}, settings: { shape: { A: 1 }, safeParse: () => ({ success: false, error: { issues: [{ path: ['A'] }] } }) } };`;
const inDatabase = (sqlite: string) => here.database.execute({ sqlite, postgres: '' });
test.each<[Record<string, RegExp>, () => unknown]>([
  [{ configuration: /PORT/ }, () => ({ PORT: 'x' })],
  [
    { handlers: /does not load/, key: /every user may read it/ },
    () => {
      chmodSync(`${here.path}.key`, 0o644);
      return named('bad.mjs', 'throw 1');
    },
  ],
  [
    { settings: /A: is not set/, database: /schema version 99/ },
    () => inDatabase('PRAGMA user_version = 99').then(() => named('app.mjs', NEEDS)),
  ],
  [
    { secrets: /begins with mock-/ },
    async () => {
      const store = await here.openStore();
      await store.secrets.add('a', 'mock-1');
      await store.close();
      return { HOST: '0.0.0.0' };
    },
  ],
  [{ secrets: /refuses every notification/ }, () => inDatabase('DELETE FROM secrets')],
  [
    {
      key: /key is gone: the next start will fail\. Running processes still have the key/,
      secrets: /is missing/,
    },
    () => rmSync(`${here.path}.key`),
  ],
  [
    { database: /was moved, deleted or replaced while it was in use by process \d+: put it back/ },
    async () => {
      await here.serve();
      copyFileSync(here.path, `${here.path}.copy`);
      renameSync(`${here.path}.copy`, here.path);
      const status = await here.cli(['status']); // reading the log of another file into this one would spoil it
      expect([status.code, status.stderr]).toEqual([1, expect.stringContaining('while it was in use by')]);
    },
  ],
  [{ database: /is locked \(other programs use it, and fuser lists them/ }, () => here.database.stall()],
])('fails, when what it checks is not as it must be: %j', async (told, spoil) => {
  await here.register('https://your.host/webhooks/media');
  const { all } = await findings(1, ['--offline'], ((await spoil()) ?? {}) as Record<string, string>);
  const failed = all.filter(({ result }) => result === 'FAIL');
  for (const [check, detail] of Object.entries(told))
    expect(failed).toContainEqual(expect.objectContaining({ check, detail: expect.stringMatching(detail) }));
});

test('fails, when the provider refuses the API secret and the key is another, and looks at a URL that it is given', async () => {
  await here.register('https://your.host/webhooks/media');
  const { of } = await findings(1, ['--url', 'http://127.0.0.1:9/x'], {
    PROVIDER_API_SECRET: 'refused-api-secret',
    SECRETS_KEY: Buffer.alloc(32, 5).toString('base64'),
  });
  expect(['secrets', 'provider', 'url'].map((check) => of(check).result)).toEqual(['FAIL', 'FAIL', 'FAIL']);
  expect(of('secrets').detail).toContain('do not open with this key');
  expect(of('provider').detail).not.toContain('refused-api-secret');
});

test('posts a test message to ALERT_URL, when it is told to, and says how that was answered, without the URL', async () => {
  const { url, got } = await scripted([200], [404], [302, {}, { Location: '/hunter2' }]);
  const ALERT_URL = `${url}/hunter2`;
  const alert = async (result: string, why: string, args: string[], env: Record<string, string>) => {
    const { of } = await findings(result === 'FAIL' ? 1 : 0, args, env);
    expect(of('alert')).toMatchObject({ result, detail: expect.stringContaining(why) });
  };
  await alert('ok', 'not set', ['--offline'], {});
  await alert('FAIL', 'not set', ['--alert'], {});
  await alert('ok', 'is set', [], { ALERT_URL });
  expect(got).toEqual([]);
  await alert('ok', 'took the test message', ['--alert'], { ALERT_URL });
  expect(JSON.parse(present(got[0]).body)).toEqual({ text: expect.any(String), status: 'test' });
  await alert('FAIL', '404', ['--alert'], { ALERT_URL });
  await alert('FAIL', '302', ['--alert'], { ALERT_URL });
  await alert('FAIL', 'ECONNREFUSED', ['--alert'], { ALERT_URL: `${NOWHERE}/hunter2` });
  expect(got).toHaveLength(3);
  expect(here.outputs.join()).not.toContain('hunter2');
});

const NOW = Date.UTC(2026, 0, 1);

test.each([
  [-4000, 'ok'],
  [20_000, 'warn'],
  [-31_500, 'FAIL'],
])('the clock is judged, when the provider is %d ms ahead: %s', async (ahead, result) => {
  const { url } = await scripted([404, {}, { Date: new Date(NOW + ahead).toUTCString() }]);
  expect((await checkClock(url, new VirtualClock(NOW))).result).toBe(result);
});

test.each([
  ['a receiver of ours', 401, { error: UNVERIFIED.error }, 'ok', 'refuses a false token'],
  ['one that has been asked often', 429, { error: THROTTLED.error }, 'ok', 'refuses a false token'],
  ['one behind a proxy that drops the token', 401, { error: NO_TOKEN.error }, 'FAIL', 'Authorization'],
  ['a receiver that stops', 503, { error: 'shutting down' }, 'FAIL', 'no receiver behind it'],
  ['a receiver that takes anything', 200, 'ok', 'FAIL', 'WEBHOOK_PATH'],
])('a URL is judged, when it leads to %s', async (_case, status, json, result, detail) => {
  const { url } = await scripted([status, json, {}]);
  expect(await reach(url, PROBE_ANSWERS)).toMatchObject({ result, detail: expect.stringContaining(detail) });
});
