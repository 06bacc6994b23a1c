import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { type MetadataInput, MockProvider } from '../../src/mock/index.ts';
import { predictable, refusePredictable } from '../../src/store/predictable-secrets.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { runCli } from '../support/run-cli.ts';
import { startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const REAL = 'Vq8fHDbD3m6jJ0GQyOiY2c1kz9nXw4sLtRuEaPh7BgSxKvM5';
/** What a mock that marked nothing made of the seed 1, which it had unless told otherwise: its first three secrets. */
const FORMER = [
  'I1QLvXuGuCjD1j9XiPB6n3kvXPMYvbY1eE0ODP270Wz1PuHg',
  'U2E0ldw2fTtA41GFnjeMUfgQLveF3QTjO68OkrPsSFyhKLO8',
  'ivxEYYPhxh9EhdkQVq4lPn3WnW6QOcAL1B1KpFmb4YAvD3Du',
];

const metadata: MetadataInput = {
  name: 'one',
  webhook_url: 'http://127.0.0.1:9/',
  events: ['media_created'],
  site_ids: ['site0001'],
};

const inspect = inspectedForEachTest();

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});
afterEach(() => rmSync(directory, { recursive: true }));

/** The secrets of the first webhooks of a mock provider. */
async function secretsOf(seed: number | undefined, count = 3): Promise<string[]> {
  const mock = await MockProvider.start({ port: 0, ...(seed !== undefined && { seed }) });
  const secrets = Array.from({ length: count }, () => mock.createWebhook(metadata).secret);
  await mock.close();
  return secrets;
}

async function store(webhookId: string, secret: string): Promise<void> {
  const opened = await SqliteStore.open({ path, clock: systemClock, threads: false });
  await opened.addSecret(webhookId, secret);
  await opened.close();
}

const stored = (secret: string) => [{ webhookId: 'hook0001', secret, createdAt: 0, retireAt: undefined }];

describe('a secret of the mock provider', () => {
  test('is another one at each start, without the mark, when no seed is asked for', async () => {
    const all = [...(await secretsOf(undefined)), ...(await secretsOf(undefined))];
    expect(new Set(all).size).toBe(6);
    for (const secret of all) expect(secret).toMatch(/^[A-Za-z0-9]{48}$/);
    expect(all.flatMap((secret) => predictable(stored(secret), { WEBHOOK_SECRET: undefined }))).toEqual([]);
  });

  test.each([0, 1, 7, 2 ** 32 - 1])(
    'is the same at each start, with the mark, when the seed is %d',
    async (seed) => {
      const all = await secretsOf(seed);
      expect(await secretsOf(seed)).toEqual(all);
      for (const secret of all) {
        expect(secret).toMatch(/^mock-[A-Za-z0-9]{43}$/);
        expect(predictable(stored(secret), { WEBHOOK_SECRET: secret })).toEqual([
          'webhook hook0001',
          'WEBHOOK_SECRET',
        ]);
      }
    },
  );
});

test('what a former mock made without a seed being asked for is known as predictable, and what is not, not', () => {
  for (const secret of FORMER) {
    expect(predictable(stored(secret), { WEBHOOK_SECRET: undefined })).toEqual(['webhook hook0001']);
  }
  expect(predictable(stored(REAL), { WEBHOOK_SECRET: REAL })).toEqual([]);
});

describe('a service with a predictable secret', () => {
  const known = { secrets: async () => stored('mock-0123456789') };
  test.each([
    ['127.0.0.1', 0, true],
    ['localhost', 0, true],
    ['::1', 0, true],
    ['127.0.0.1', 1, false],
    ['0.0.0.0', 0, false],
    ['::', 0, false],
    ['192.168.0.1', 0, false],
  ])('is reachable on %s behind %d proxies, and may start: %s', async (HOST, TRUST_PROXY, mayStart) => {
    const refusal = await refusePredictable(known, { HOST, TRUST_PROXY, WEBHOOK_SECRET: undefined }).then(
      () => undefined,
      (error) => error,
    );
    expect(refusal === undefined).toBe(mayStart);
  });

  test('does not start where others reach it, when it is stored, and says which webhook and what to do', async () => {
    const [secret = ''] = await secretsOf(5);
    await store('hook0005', secret);
    const env = { DATABASE_URL: `sqlite:${path}`, ADMIN_PORT: '0', PORT: '0', LOG_LEVEL: 'silent' };
    const { code, stdout, stderr } = await runCli(['serve'], { env: { ...env, HOST: '0.0.0.0' } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^hookkit: no start on 0\.0\.0\.0 with the secret of webhook hook0005: .*\n$/);
    expect(stderr).toContain('npx hookkit webhooks import');
    expect(stderr).not.toContain(secret);
    const doctor = await runCli(['doctor', '--offline'], { env });
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/^FAIL +secrets +the secret of webhook hook0005 protects nothing/m);
    const service = await startProcess({ DATABASE_URL: env.DATABASE_URL });
    service.child.kill('SIGTERM');
    expect(await service.exited).toBe(0);
  });

  test.each([
    ['127.0.0.1', 200, []],
    ['0.0.0.0', 401, [{ level: 50, webhooks: ['hook0005'], count: 1 }]],
  ])('that runs on %s answers %d, when such a secret is stored meanwhile', async (HOST, status, lines) => {
    const { deliver, log } = await inspect({}, { DATABASE_URL: `sqlite:${path}`, HOST });
    await store('hook0005', 'mock-0123456789');
    await store('hook0006', REAL);
    const statusOf = async (webhook_id: string, secret: string) =>
      (await deliver(notification({ webhook_id }), secret)).status;
    expect(await statusOf('hook0006', REAL)).toBe(200);
    expect(await statusOf('hook0005', 'mock-0123456789')).toBe(status);
    const said = () =>
      log.withMessage(
        'a stored secret follows from the seed of a mock provider, so that anybody can compute it, and counts as absent: npx hookkit doctor says what to do',
      );
    if (lines.length > 0) await eventually('it is said', () => said().length > 0);
    expect(said()).toMatchObject(lines);
  });

  test('is told of, when its secret is imported', async () => {
    const env = { DATABASE_URL: `sqlite:${path}` };
    const args = ['webhooks', 'import', '--id', 'hook0005'];
    const { code, stderr } = await runCli(args, { env, stdin: 'mock-0123456789' });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^anybody can compute this secret/),
    });
    expect((await runCli(args, { env, stdin: REAL })).stderr).toBe('');
  });

  test('does not start where others reach it, when it is WEBHOOK_SECRET, and the doctor fails before there is a database', async () => {
    const env = {
      DATABASE_URL: `sqlite:${path}`,
      WEBHOOK_SECRET: 'mock-0123456789',
      ADMIN_PORT: '0',
      PORT: '0',
    };
    const doctor = await runCli(['doctor', '--offline'], { env });
    expect(doctor.stdout).toMatch(/^FAIL +secrets +the secret of WEBHOOK_SECRET protects nothing/m);
    const { code, stderr } = await runCli(['serve'], { env });
    expect(code).toBe(1);
    expect(stderr).toContain('no start on 0.0.0.0 with the secret of WEBHOOK_SECRET: ');
  });
});
