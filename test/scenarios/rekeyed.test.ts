import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { keyOf, signNotification } from '../../src/notification/token.ts';
import { databaseForEachTest } from '../support/engine.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { SECRETS_KEY } from '../support/postgres-databases.ts';
import { runCli } from '../support/run-cli.ts';
import { startProcess } from '../support/service-process.ts';

const database = databaseForEachTest();
const envOf = (key: Buffer) => ({ ...database().env, SECRETS_KEY: key.toString('base64') });

async function statusOfAnother(url: string): Promise<number> {
  const body = bodyOf(900);
  const headers = { authorization: `Bearer ${signNotification(body, keyOf('perhaps a new secret'))}` };
  return (await fetch(`${url}/webhooks/media`, { method: 'POST', headers, body })).status;
}

test('a server that runs with the old SECRETS_KEY takes what it can verify, when the key was changed, and says 503 to what it cannot', async () => {
  const store = await database().open(SECRETS_KEY);
  await store.addSecret('hook0001', SECRET);
  const { url, stop } = await startProcess(envOf(SECRETS_KEY));
  expect((await deliver(url, bodyOf(1))).status).toBe(200);
  const next = randomBytes(32);
  const run = await runCli(['secrets', 'rekey'], { env: envOf(SECRETS_KEY), stdin: next.toString('base64') });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect((await deliver(url, bodyOf(2))).status).toBe(200);
  expect(await statusOfAnother(url)).toBe(503);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);

  await stop();
  const again = await startProcess(envOf(next));
  expect((await deliver(again.url, bodyOf(3))).status).toBe(200);
  expect(await statusOfAnother(again.url)).toBe(401);
}, 60_000);
