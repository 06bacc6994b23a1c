import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { EventStore } from '../../src/store/event-store.ts';
import { databaseForEachTest, ENGINE } from '../support/engine.ts';
import { eventsIn } from '../support/events-in.ts';
import { eventually } from '../support/eventually.ts';
import { only } from '../support/only.ts';
import { startProcess } from '../support/service-process.ts';
import { EVENT_TIME, verified } from '../support/verified-notification.ts';

const MAX_ATTEMPTS = 5;
/** What was lost twice runs one after the other, two in a second. */
const NEIGHBOURS = 20;
const LEASE_MS = ENGINE === 'postgres' ? 2000 : 600;
const database = databaseForEachTest();

/** Restarts the service whenever it ends, as a supervisor does, until no event of the store is left. @returns how often */
async function supervise(store: EventStore): Promise<number> {
  const env = {
    ...database().env,
    HANDLERS: join(import.meta.dirname, 'handlers/poison.ts'),
    LEASE_MS: String(LEASE_MS),
    RETRY_MAX_ATTEMPTS: String(MAX_ATTEMPTS),
    RETRY_BASE_MS: '10',
  };
  const isDone = async () => {
    const { pending, running } = await store.reports.overview();
    return pending + running === 0;
  };
  for (let crashes = 0; ; crashes++) {
    const service = await startProcess(env);
    const done = eventually('all is done', isDone);
    const code = await Promise.race([done, service.exited]);
    if (code === undefined) {
      await service.stop();
      return crashes;
    }
    expect(code).toBe(1);
    if (crashes > 3 * MAX_ATTEMPTS) throw new Error('it goes on crashing');
  }
}

test('an event whose handler ends the process ends as dead, when others are at work beside it, and takes none of them along', async () => {
  const store = await database().open();
  const poison = await store.queue.record(verified({ media_id: 'poison', at: EVENT_TIME - 1 }));
  for (let number = 0; number < NEIGHBOURS; number++) {
    await store.queue.record(verified({ media_id: `media-${number}` }));
  }
  const crashes = await supervise(store);
  expect(crashes).toBe(MAX_ATTEMPTS);
  expect(await store.queue.count({ status: 'handled' })).toBe(NEIGHBOURS);
  const dead = only(await eventsIn(store, { status: 'dead' }, 2));
  expect(dead).toMatchObject({ id: poison.id, attempts: MAX_ATTEMPTS });
  const outcomes = (await store.queue.attempts({ id: poison.id })).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(Array(MAX_ATTEMPTS).fill('lost'));
}, 60_000);
