import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createCommand, hookOf, type Installation, install, SITE } from '../support/installation.ts';
import type { CliOptions } from '../support/run-cli.ts';
import { size } from '../support/sizes.ts';

const FALLBACK = 'a-secret-for-all-the-other-webhooks-0123';
const WRONG = 'the-secret-of-quite-another-webhook-0123';

let here: Installation;
/** what every process was started with, as everybody on the machine can read it */
const argumentLists: string[] = [];
const secrets = new Set<string>();

/** A whole life: everything that has to do with secrets is done once, well and badly. */
beforeAll(async () => {
  here = await install({ LOG_LEVEL: 'trace' });
  const service = await here.serveApart({ WEBHOOK_SECRET: FALLBACK });
  noteArguments(service.child.pid);
  /** As somebody could see it on the machine: with a secret on stdin. */
  const spawn = (args: readonly string[], options: CliOptions = {}) =>
    here.cli(args, { ...options, onSpawn: ({ pid }) => noteArguments(pid) });
  const run = size<typeof spawn>({
    small: (args, options) => {
      argumentLists.push(args.join('\0'));
      return here.cli(args, options);
    },
    full: spawn,
  });
  const happen = async () => {
    here.mock.createChannel({ site_id: SITE });
    await here.mock.settled();
  };

  const create = createCommand(hookOf(service));
  const { id } = await here.json(create);
  await run([...create, '--description', 'another']);
  await happen();
  const { id: foreign, secret } = here.foreignWebhook(hookOf(service));
  await run(['webhooks', 'list']);
  await spawn(['webhooks', 'import', '--id', foreign], { stdin: WRONG });
  await happen();
  for (const format of [[], ['--json']]) {
    await run(['quarantine', 'list', ...format]);
    await run(['webhooks', 'list', ...format]);
    await run(['webhooks', 'list', '--stored', ...format]);
    await run(['webhooks', 'show', foreign, ...format]);
    await run(['quarantine', 'admit', ...format]);
    await run(['doctor', ...format]);
  }
  const file = join(here.directory, 'secret.txt');
  writeFileSync(file, secret);
  await run(['webhooks', 'import', '--id', foreign, '--secret-file', file, '--replace']);
  await run(['webhooks', 'import', '--id', foreign], { stdin: `${secret} and more` });
  await run(['webhooks', 'update', id, '--name', 'other']);
  await run(['webhooks', 'rotate', id, '--grace', '1m']);
  await happen();
  await run(['webhooks', 'delete', foreign]);
  const badApiSecret = 'an-api-secret-that-is-refused-01234567';
  await run(['webhooks', 'list'], { env: { PROVIDER_API_SECRET: badApiSecret } });
  await run(['doctor'], { env: { PROVIDER_API_SECRET: badApiSecret } });
  const badKey = Buffer.alloc(32, 5).toString('base64');
  await run(['doctor', '--offline'], { env: { SECRETS_KEY: badKey } });
  await run(['serve'], { env: { SECRETS_KEY: 'not-a-key-at-all-0123456789' } });
  service.child.kill('SIGTERM');
  await service.exited;
  here.outputs.push(service.output());

  for (const one of [
    FALLBACK,
    WRONG,
    secret,
    badApiSecret,
    badKey,
    'not-a-key-at-all-0123456789',
    here.mock.apiSecret,
  ])
    secrets.add(one);
  for (const one of here.provider.secrets) secrets.add(one);
  secrets.add(readFileSync(`${here.path}.key`, 'utf8').trim());
}, 120_000);
afterAll(() => here.dispose());

function noteArguments(pid: number | undefined): void {
  const file = `/proc/${pid}/cmdline`;
  if (existsSync(file)) argumentLists.push(readFileSync(file, 'utf8'));
}

function tokens(): string[] {
  return here.mock
    .deliveries()
    .flatMap(({ attempts }) =>
      attempts.map(({ request }) => request.headers.Authorization?.split(' ')[1] ?? ''),
    );
}

test('knows the secrets and has seen the output, when all was done', () => {
  expect(secrets.size).toBeGreaterThanOrEqual(10);
  expect(new Set(tokens()).size).toBeGreaterThan(3);
  const all = here.outputs.join('\n');
  for (const word of ['notification refused', 'is replaced by', 'MISSING', '"admitted"', 'FAIL']) {
    expect(all).toContain(word);
  }
});

test('prints no secret and no token, whatever command is called and whatever the server logs', () => {
  for (const secret of [...secrets, ...tokens()]) {
    expect(here.outputs.filter((output) => output.includes(secret))).toEqual([]);
  }
});

(existsSync('/proc/self/cmdline') ? test : test.skip)(
  'has no secret in its arguments, whatever is called',
  () => {
    expect(argumentLists.length).toBeGreaterThan(10);
    for (const secret of secrets) {
      expect(argumentLists.filter((argument) => argument.includes(secret))).toEqual([]);
    }
  },
);

test('has no secret in the database or beside it, when it is stored', () => {
  const directory = dirname(here.path);
  for (const name of readdirSync(directory).filter((file) => !file.endsWith('.key'))) {
    const bytes = readFileSync(join(directory, name));
    for (const secret of secrets)
      expect({ name, found: bytes.includes(secret) }).toEqual({ name, found: false });
  }
});
