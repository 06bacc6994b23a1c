import { expect, jest, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { present } from '../support/only.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';
import { verified } from '../support/verified-notification.ts';

jest.setTimeout(120_000); // processes on a busy machine
/** Each ends two processes. */
const MAX_ATTEMPTS = size({ small: 1, full: 2 });
const stopping = new URL('../support/stopping-handlers.ts', import.meta.url);

const database = databaseForEachTest();

test('an event whose handler stops its process in order, at every start, ends as dead with a record of each start', async () => {
  const store = await database().open();
  const { id } = await store.record(verified());
  const env = {
    ...database().env,
    RETRY_MAX_ATTEMPTS: String(MAX_ATTEMPTS),
    SHUTDOWN_GRACE_MS: '0',
  };
  let rounds = 0;
  while (present(await store.event(id)).status === 'pending' && rounds < 3 * MAX_ATTEMPTS) {
    rounds++;
    const service = await startProcess(env, stopping);
    expect(await service.exited).toBe(0);
  }
  expect(rounds).toBe(2 * MAX_ATTEMPTS);
  const starts = 2 * MAX_ATTEMPTS;
  expect(await store.event(id)).toMatchObject({ status: 'dead', starts, attempts: MAX_ATTEMPTS });
  const records = (await store.attempts(id)).map(({ attempt, outcome }) => [attempt, outcome]);
  expect(records).toEqual(Array.from({ length: starts }, (_, start) => [start + 1, 'interrupted']));
});
