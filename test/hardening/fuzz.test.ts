import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { campaign } from './fuzz/campaign.ts';

const CASES = size({ small: 150, full: 4000 });
const SEED = 20_261_120;

test(`random requests, ${CASES} of them, are never answered 5xx, nor 2xx unless they were signed, and the process goes on`, async () => {
  const directory = await temporaryDirectory();
  const env = {
    DATABASE_URL: `sqlite:${join(directory, 'receiver.db')}`,
    WEBHOOK_SECRET: SECRET,
    HEADERS_TIMEOUT_MS: '1000',
    REQUEST_TIMEOUT_MS: '1000',
    REJECT_LIMIT: '1000000',
    LOG_LEVEL: 'error',
  };
  const service = await startProcess(env, new URL('../scenarios/handlers/none.ts', import.meta.url));
  const tally = await campaign({ port: Number(new URL(service.url).port), cases: CASES, seed: SEED });
  process.stdout.write(`answers to random requests: ${JSON.stringify(tally)}\n`);
  expect(tally).toMatchObject({ 200: expect.any(Number), 400: expect.any(Number), 401: expect.any(Number) });
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  service.child.kill('SIGTERM');
  expect(await service.exited).toBe(0);
  expect(service.output()).not.toMatch(/request failed|crashed|unhandled/i);
  rmSync(directory, { recursive: true });
}, 120_000);
