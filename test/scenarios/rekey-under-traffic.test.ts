import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { keyOf, signNotification } from '../../src/notification/token.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { runCli } from '../support/run-cli.ts';
import { type Served, serve, serveApart } from '../support/served.ts';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROUNDS = size({ small: 2, full: 3 });
const KEY = randomBytes(32);
let directory: string;
let path: string;
let server: Served | undefined;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});

afterEach(async () => {
  await server?.discard();
  await rm(directory, { recursive: true });
});

async function start(secretsKey: Buffer | undefined, serving = serve): Promise<Served> {
  const store = await SqliteStore.open({ path, clock: systemClock, secretsKey, threads: false });
  await store.addSecret('hook0001', SECRET);
  await store.close();
  server = await serving({ env: envOf(secretsKey) });
  return server;
}

function envOf(secretsKey: Buffer | undefined) {
  const key = secretsKey && { SECRETS_KEY: secretsKey.toString('base64') };
  return { DATABASE_URL: `sqlite:${path}`, ...key };
}

async function statusOf(sent: Promise<Response>): Promise<number> {
  return (await sent).status;
}

/** A notification of a webhook whose secret the server can only find in the database. */
function deliverAs(url: string, webhook: string, secret: string): Promise<Response> {
  const body = bodyOf(900).replace('hook0001', webhook);
  const headers = { authorization: `Bearer ${signNotification(body, keyOf(secret))}` };
  return fetch(`${url}/webhooks/media`, { method: 'POST', headers, body });
}

/** Delivers until told to stop; gives the statuses. */
function traffic(url: string) {
  let isOn = true;
  const statuses: number[] = [];
  const ended = (async () => {
    for (let number = 0; isOn; number++) statuses.push(await statusOf(deliver(url, bodyOf(number))));
    return statuses;
  })();
  return {
    stop: () => {
      isOn = false;
      return ended;
    },
  };
}

test('a running server loses no key, when the secrets are sealed again several times under traffic, and learns new secrets', async () => {
  const { url } = await start(undefined, serveApart);
  const sending = traffic(url);
  for (let round = 0; round < ROUNDS; round++) {
    expect((await runCli(['secrets', 'rekey'], { env: envOf(undefined) })).code).toBe(0);
    const imported = ['webhooks', 'import', '--id', `new${round}`];
    expect(
      (await runCli(imported, { env: envOf(undefined), stdin: `secret ${round}`.replace(' ', '-') })).code,
    ).toBe(0);
    expect(await statusOf(deliverAs(url, `new${round}`, `secret-${round}`))).toBe(200);
    expect(await statusOf(deliverAs(url, `new${round}`, 'a wrong secret'))).toBe(401);
  }
  const statuses = await sending.stop();
  expect(statuses.length).toBeGreaterThan(10);
  expect(new Set(statuses)).toEqual(new Set([200]));
}, 60_000);

test('a server that runs with the old SECRETS_KEY takes what it can verify, when the key was changed, and says 503 to what it cannot', async () => {
  const { url, stop } = await start(KEY);
  expect(await statusOf(deliver(url, bodyOf(1)))).toBe(200);
  const next = randomBytes(32);
  const run = await runCli(['secrets', 'rekey'], { env: envOf(KEY), stdin: next.toString('base64') });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(await statusOf(deliver(url, bodyOf(2)))).toBe(200);
  expect(await statusOf(deliverAs(url, 'hook0001', 'perhaps a new secret'))).toBe(503);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);

  await stop();
  server = await serve({ env: envOf(next) });
  expect(await statusOf(deliver(server.url, bodyOf(3)))).toBe(200);
  expect(await statusOf(deliverAs(server.url, 'hook0001', 'perhaps a new secret'))).toBe(401);
}, 60_000);
