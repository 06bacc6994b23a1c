import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { campaign } from '../hardening/fuzz/campaign.ts';
import { rssOf } from '../support/memory.ts';
import { SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CASES = 100_000;
const SEED = 1_000_003;
const SAMPLE = 10_000;
/** It may grow by so many MiB after it has warmed up: the database's cache and what V8 leaves lying. */
const GROWTH_MIB = 64;

test(`random requests, ${CASES} of them, are never answered 5xx, nor 2xx unless signed, in steady memory and with the process alive`, async () => {
  const directory = await temporaryDirectory();
  const path = join(directory, 'receiver.db');
  const env = {
    DATABASE_URL: `sqlite:${path}`,
    WEBHOOK_SECRET: SECRET,
    HEADERS_TIMEOUT_MS: '1000',
    REQUEST_TIMEOUT_MS: '1000',
    REJECT_LIMIT: '1000000',
    LOG_LEVEL: 'fatal',
  };
  const service = await startProcess(env, new URL('../scenarios/handlers/none.ts', import.meta.url));
  const samples: number[] = [];
  const port = Number(new URL(service.url).port);
  const began = performance.now();
  const onBlock = (cases: number) => {
    if (cases % SAMPLE === 0) samples.push(rssOf(service.child.pid));
  };
  const tally = await campaign({ port, cases: CASES, seed: SEED, onBlock });
  const seconds = Math.round((performance.now() - began) / 1000);
  process.stdout.write(
    `${CASES} random requests in ${seconds} s, answers ${JSON.stringify(tally)}, RSS in MiB ${samples.join(' ')}\n`,
  );
  const [, , warm = 0] = samples;
  expect(Math.max(...samples)).toBeLessThan(warm + GROWTH_MIB);
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  service.child.kill('SIGTERM');
  expect(await service.exited).toBe(0);
  expect(service.output()).not.toMatch(/crashed|unhandled/i);

  const store = await SqliteStore.open({ path, clock: systemClock });
  expect(await store.count({})).toBeGreaterThan(CASES / 20);
  await store.close();
  rmSync(directory, { recursive: true });
}, 1_800_000);
