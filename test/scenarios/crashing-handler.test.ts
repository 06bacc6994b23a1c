import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import type { StoredEvent } from '../../src/store/event-store.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { size, some } from '../support/sizes.ts';

/** Two at least: the first crash takes along what runs beside. */
const MAX_ATTEMPTS = size({ small: 2, full: 3 });
/**
 * What was lost twice runs one after the other, over the length of a lease. On a busy machine with a real disk a small part of it may be
 * too short to store a result in, and the next crash would take that event along.
 */
const LEASE_MS = size({ small: 200, full: 2000 });
/** The media whose handler ends the process. */
const CRASHING = some(1, [2, 1]);

const directory = mkdtempSync(join(tmpdir(), 'hookkit-crash-'));
const path = join(directory, 'receiver.db');
const env = {
  DATABASE_URL: `sqlite:${path}`,
  WEBHOOK_SECRET: SECRET,
  LEASE_MS: String(LEASE_MS),
  RETRY_MAX_ATTEMPTS: String(MAX_ATTEMPTS),
};
const crashing = new URL('../support/crashing-handlers.ts', import.meta.url);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('gives an event up, when its handler ends the process at every attempt, as dead after the last', async () => {
  const store = await SqliteStore.open({ path, clock: systemClock, threads: false });
  let service = await startProcess(env, crashing);
  for (const number of [0, ...CRASHING, 3]) {
    // The first crash may come before the last is sent: a sender that gets no answer tries again.
    while (!(await deliver(service.url, bodyOf(number)).catch(() => undefined))?.ok) {
      await service.exited;
      service = await startProcess(env, crashing);
    }
  }
  let crashes = 0;
  // In one look: between two, an event can go from one status to the other.
  const isOpen = ({ status }: StoredEvent) => status === 'pending' || status === 'running';
  while ((await store.events({}, { limit: 10 })).some(isOpen)) {
    const code = await Promise.race([service.exited, new Promise((resolve) => setTimeout(resolve, 100))]);
    if (code === undefined) continue;
    crashes++;
    service = await startProcess(env, crashing);
  }
  service.child.kill('SIGTERM');
  expect(await service.exited).toBe(0);
  expect(crashes).toBeLessThanOrEqual(CRASHING.length * MAX_ATTEMPTS);

  const events = await store.events({}, { limit: 10 });
  const outcome = (number: number) => {
    const event = events.find(({ resource }) => resource === `media:media${number}`);
    return [event?.status, event?.attempts];
  };
  expect(CRASHING.map(outcome)).toEqual(CRASHING.map(() => ['dead', MAX_ATTEMPTS]));
  expect([outcome(0)[0], outcome(3)[0]]).toEqual(['handled', 'handled']);
  for (const number of CRASHING) {
    const dead = events.find(({ resource }) => resource === `media:media${number}`);
    const attempts = await store.attempts(dead?.id ?? '');
    expect(attempts.map(({ outcome }) => outcome)).toEqual(Array(MAX_ATTEMPTS).fill('lost'));
  }
  await store.close();
}, 60_000);
