import { expect, test } from '@jest/globals';
import type { StoredEvent } from '../../src/store/event-store.ts';
import { databaseForEachTest, ENGINE } from '../support/engine.ts';
import { eventsIn } from '../support/events-in.ts';
import { startProcess } from '../support/service-process.ts';
import { size, some } from '../support/sizes.ts';
import { EVENT_TIME, verified } from '../support/verified-notification.ts';

/** Three at least: two crashes take along what runs beside, then what was lost twice runs alone. */
const MAX_ATTEMPTS = size({ small: 3, full: 5 });
/**
 * What was lost twice runs one after the other, over the length of a lease. On a busy machine with a real disk a small part of it may be
 * too short to store a result in, and the next crash would take that event along. A process that has just started connects to
 * PostgreSQL meanwhile.
 */
const LEASE_MS = ENGINE === 'postgres' ? 3000 : size({ small: 200, full: 3000 });
/** The media whose handler ends the process. */
const CRASHING = some(1, [2, 1]);

const database = databaseForEachTest();
const crashing = new URL('../support/crashing-handlers.ts', import.meta.url);

/** How long a supervisor waits until it starts the service again: some wait longer each time. */
const RESTARTS = some(1, [
  { pause: 'later than its neighbours are due', pauseMs: 1.5 * LEASE_MS },
  { pause: 'at once', pauseMs: 0 },
]);

test.each(RESTARTS)(
  'gives an event up, when its handler ends the process at every attempt, as dead after the last, and nothing else, when it starts $pause',
  async ({ pauseMs }) => {
    const store = await database().open();
    const env = {
      ...database().env,
      LEASE_MS: String(LEASE_MS),
      RETRY_MAX_ATTEMPTS: String(MAX_ATTEMPTS),
    };
    // All are there when the service starts, so that each crash takes the others along.
    for (const [index, number] of [0, ...CRASHING, 3].entries())
      await store.record(verified({ media_id: `media${number}`, at: EVENT_TIME + index }));
    let service = await startProcess(env, crashing);
    const startAgain = async () => {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      return startProcess(env, crashing);
    };
    let crashes = 0;
    // In one look: between two, an event can go from one status to the other.
    const isOpen = ({ status }: StoredEvent) => status === 'pending' || status === 'running';
    while ((await eventsIn(store, {}, 10)).some(isOpen)) {
      const code = await Promise.race([service.exited, new Promise((resolve) => setTimeout(resolve, 100))]);
      if (code === undefined) continue;
      crashes++;
      service = await startAgain();
    }
    service.child.kill('SIGTERM');
    expect(await service.exited).toBe(0);
    expect(crashes).toBeLessThanOrEqual(CRASHING.length * MAX_ATTEMPTS);

    const events = await eventsIn(store, {}, 10);
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
  },
  120_000,
);
