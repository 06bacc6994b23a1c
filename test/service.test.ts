import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { eventsIn } from './support/events-in.ts';
import { eventually } from './support/eventually.ts';
import { bodyOf, deliver } from './support/notifications.ts';
import { runCli } from './support/run-cli.ts';
import { type RunningService, runService } from './support/running-service.ts';

const directory = mkdtempSync(join(tmpdir(), 'hookkit-start-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let service: RunningService | undefined;
afterEach(async () => {
  await service?.dispose();
  service = undefined;
});

test('says what is wrong and ends, when its port is taken, with 1', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => holder.once('listening', resolve));
  const { port } = holder.address() as AddressInfo;
  const run = await runCli(['serve'], {
    env: { HOST: '127.0.0.1', PORT: String(port), DATABASE_URL: `sqlite:${join(directory, 'r.db')}` },
  });
  holder.close();
  expect(run.code).toBe(1);
  expect(run.stderr).toMatch(/^hookkit: cannot listen on 127\.0\.0\.1:\d+: .*; set HOST and PORT\n$/);
});

test('handles an event again, when it is replayed while the service runs, without a restart', async () => {
  service = await runService({ media_available: () => {} });
  const { store } = service;
  await deliver(service.url, bodyOf(1));
  await eventually('it is handled', async () => (await store.count({ status: 'handled' })) === 1);
  await store.replay({});
  await eventually('it is handled', async () => (await store.count({ status: 'handled' })) === 1);
  const [event] = await eventsIn(store, {}, 1);
  expect(event).toMatchObject({ replays: 1, attempts: 1, status: 'handled' });
});
