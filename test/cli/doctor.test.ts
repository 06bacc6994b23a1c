import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Finding } from '../../src/base/finding.ts';
import { createCommand, type Installation, install } from '../support/installation.ts';
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

async function register(url: string): Promise<string> {
  return (await here.json(createCommand(url))).id;
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
  await register('https://your.host/webhooks/media');
  here.provider.asked.length = 0;
  writeFileSync(here.path, Buffer.alloc(8192, 'x'));
  const { of } = await findings(1, ['--offline']);
  expect(of('database').result).toBe('FAIL');
  for (const check of ['clock', 'provider', 'url']) expect(of(check).result).toBe('skipped');
  expect(here.provider.asked).toEqual([]);
});

test('fails, when the registered URL leads elsewhere, but skips webhooks without a stored secret', async () => {
  const service = await here.serve();
  await register(`${service.url}/elsewhere`);
  const stranger = here.foreignWebhook('http://127.0.0.1:9/hook');
  const { of } = await findings(1);
  expect(of('url')).toMatchObject({ result: 'FAIL', detail: expect.stringContaining('answers 404') });
  expect(of('webhook')).toMatchObject({ result: 'warn', detail: expect.stringContaining(stranger.id) });
});
