import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Finding } from '../../src/base/finding.ts';
import { type Installation, install } from '../support/installation.ts';
import { present } from '../support/only.ts';

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

test('names a variable of .env that nobody reads, and the one that is meant, without its value', async () => {
  const env = join(here.directory, '.env');
  writeFileSync(env, 'RETRY_MAX_ATTEMTPS=3\nRETENTION_DAY=7\nMY_OWN=hidden\n');
  const { stdout } = await here.cli(['doctor', '--offline', '--json'], { cwd: here.directory });
  expect(stdout).not.toContain('hidden');
  const { findings: all }: { findings: Finding[] } = JSON.parse(stdout);
  expect(all.filter(({ check, result }) => check === 'configuration' && result === 'warn')).toEqual(
    [
      ['RETENTION_DAY', 'RETENTION_DAYS'],
      ['RETRY_MAX_ATTEMTPS', 'RETRY_MAX_ATTEMPTS'],
    ].map(([name, meant]) =>
      expect.objectContaining({ detail: `${name} is set, and nobody reads it: is ${meant} meant?` }),
    ),
  );
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
  const service = await here.serve();
  await here.register(`${service.url}/elsewhere`);
  const stranger = here.foreignWebhook('http://127.0.0.1:9/hook');
  const { of } = await findings(1);
  expect(of('url')).toMatchObject({ result: 'FAIL', detail: expect.stringContaining('answers 404') });
  expect(of('webhook')).toMatchObject({ result: 'warn', detail: expect.stringContaining(stranger.id) });
});

const named = (file: string, text: string) => {
  writeFileSync(join(here.directory, file), text);
  return { HANDLERS: join(here.directory, file) };
};
const NEW = () => here.database.execute({ sqlite: 'PRAGMA user_version = 99', postgres: '' });
const NEEDS = `export const app = { handlers: {}, settings: { shape: { A: 1 }, safeParse: () => ({ success: false, error: { issues: [{ path: ['A'] }] } }) } };`;
test.each<[string, () => unknown, RegExp]>([
  ['configuration', () => ({ PORT: 'x' }), /PORT/],
  ['handlers', () => named('bad.mjs', 'throw 1'), /does not load/],
  ['settings', () => named('app.mjs', NEEDS), /A: is not set/],
  ['disk', () => ({ DATABASE_URL: 'sqlite:/proc/none/receiver.db' }), /make room|may not write to/],
  ['database', () => chmodSync(here.path, 0o644), /everybody may read it/],
  ['database', NEW, /schema version 99/],
  ['key', () => chmodSync(`${here.path}.key`, 0o644), /others may read it/],
  ['secrets', () => ({ SECRETS_KEY: Buffer.alloc(32, 5).toString('base64') }), /do not open with this key/],
  [
    'secrets',
    () =>
      here.cli(['webhooks', 'import', '--id', 'a'], { stdin: 'mock-1' }).then(() => ({ HOST: '0.0.0.0' })),
    /begins with mock-/,
  ],
  [
    'secrets',
    () => here.database.execute({ sqlite: 'DELETE FROM secrets', postgres: '' }),
    /refuses everything/,
  ],
])('fails in %s, when it is not as it must be', async (check, spoil, told) => {
  await here.register('https://your.host/webhooks/media');
  const { all } = await findings(1, ['--offline'], ((await spoil()) ?? {}) as Record<string, string>);
  const failed = all.filter(({ result }) => result === 'FAIL');
  expect(failed).toContainEqual(expect.objectContaining({ check, detail: expect.stringMatching(told) }));
});

test('fails, when the provider refuses the API secret, and looks at a URL that it is given', async () => {
  const { of } = await findings(1, ['--url', 'http://127.0.0.1:9/x'], {
    PROVIDER_API_SECRET: 'refused-api-secret',
  });
  expect([of('provider').result, of('url')]).toEqual(['FAIL', expect.objectContaining({ result: 'FAIL' })]);
  expect(of('provider').detail).not.toContain('refused-api-secret');
});
