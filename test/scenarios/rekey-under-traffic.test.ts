import { randomBytes } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { keyOf, signNotification } from '../../src/notification/token.ts';
import { databaseForEachTest, ENGINE, testOfFiles } from '../support/engine.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { SECRETS_KEY } from '../support/postgres-databases.ts';
import { runCli } from '../support/run-cli.ts';
import { type Served, serve, serveApart } from '../support/served.ts';
import { size } from '../support/sizes.ts';

const ROUNDS = size({ small: 2, full: 3 });
/** A database on PostgreSQL has a key from the first. */
const KEY = ENGINE === 'postgres' ? SECRETS_KEY : randomBytes(32);
const database = databaseForEachTest();
let server: Served | undefined;

afterEach(() => server?.discard());

async function start(secretsKey: Buffer | undefined, serving = serve): Promise<Served> {
  const store = await database().open(secretsKey);
  await store.addSecret('hook0001', SECRET);
  await store.close();
  server = await serving({ env: envOf(secretsKey) });
  return server;
}

function envOf(secretsKey: Buffer | undefined) {
  const key = secretsKey && { SECRETS_KEY: secretsKey.toString('base64') };
  return { ...database().env, ...key };
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

// On PostgreSQL no server can learn the new key: there is no key file.
testOfFiles(
  'a running server loses no key, when the secrets are sealed again several times under traffic, and learns new secrets',
  async () => {
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
    expect(statuses.length).toBeGreaterThan(5);
    expect(new Set(statuses)).toEqual(new Set([200]));
  },
  60_000,
);

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
