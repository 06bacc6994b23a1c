import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createCommand, hookOf, type Installation, install, SITE } from '../support/installation.ts';

const FALLBACK = 'a-secret-for-all-the-other-webhooks-0123';
const WRONG = 'the-secret-of-quite-another-webhook-0123';
const BAD_API_SECRET = 'an-api-secret-that-is-refused-01234567';
const BAD_KEY = Buffer.alloc(32, 5).toString('base64');

let here: Installation;
let secrets: readonly string[];

/** A whole life: everything that has to do with secrets is done once, well and badly. */
beforeAll(async () => {
  here = await install({ LOG_LEVEL: 'trace' }, 'sqlite');
  const service = await here.serve({ WEBHOOK_SECRET: FALLBACK });
  const run = (args: string, stdin = '', env: Record<string, string> = {}) =>
    here.cli(args.split(' '), { stdin, env });
  const happen = async () => {
    here.mock.createChannel({ site_id: SITE });
    await here.mock.settled();
  };
  const { id } = await here.json(createCommand(hookOf(service)));
  await happen();
  const { id: foreign, secret } = here.foreignWebhook(hookOf(service));
  await run(`webhooks import --id ${foreign}`, WRONG);
  await happen();
  for (const args of ['quarantine list --json', 'webhooks list', `webhooks show ${foreign}`, 'doctor'])
    await run(args);
  const file = join(here.directory, 'secret.txt');
  writeFileSync(file, secret);
  await run(`webhooks import --id ${foreign} --secret-file ${file} --replace`);
  await run(`webhooks import --id ${foreign}`, `${secret} and more`);
  await run(`webhooks rotate ${id} --grace 1m`);
  await run('events send --kind media_created --media m', '', { PORT: new URL(service.url).port });
  await run('events export');
  await run('doctor', '', { PROVIDER_API_SECRET: BAD_API_SECRET, SECRETS_KEY: BAD_KEY });
  service.child.kill('SIGTERM');
  await service.exited;
  here.outputs.push(service.output());
  const key = readFileSync(`${here.path}.key`, 'utf8').trim();
  const known = [FALLBACK, WRONG, BAD_API_SECRET, BAD_KEY, here.mock.apiSecret, secret, key];
  secrets = [...known, ...here.provider.secrets];
});
afterAll(() => here.dispose());

test('no command and no log line has a secret or a token in it', () => {
  const all = here.outputs.join('\n');
  for (const word of ['notification refused', 'is replaced by', 'FAIL']) expect(all).toContain(word);
  const tokens = here.mock
    .deliveries()
    .flatMap(({ attempts }) =>
      attempts.map(({ request }) => request.headers.Authorization?.split(' ')[1] ?? ''),
    );
  expect(tokens.length).toBeGreaterThan(1);
  for (const secret of [...secrets, ...tokens]) expect(all.includes(secret)).toBe(false);
});
