import { fileURLToPath } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import { deskForEachTest } from '../../support/event-desk.ts';
import { only } from '../../support/only.ts';

const desk = deskForEachTest();
const HANDLERS = fileURLToPath(new URL('../../support/deaf-handlers.ts', import.meta.url));
jest.setTimeout(60_000); // processes on a busy machine

test('a replay in its own process ends with that process, when a handler ignores the stop, and its event keeps the lease', async () => {
  await desk().fill(1);
  const env = { HANDLERS, SHUTDOWN_GRACE_MS: '100', LEASE_MS: '3600000' };
  // A process whose handler goes on would never end.
  const { code, stdout, stderr } = await desk().spawnEvents(
    ['replay', '--all', '--run', '--timeout', '1s', '--json'],
    { env },
  );
  expect([code, stdout]).toEqual([1, '{"replayed":1,"running":1}\n']);
  expect(stderr).toContain('1 events had not ended when the time was over');
  expect(stderr).toContain('the handler ignores ctx.signal and still runs');
  expect(stderr).not.toContain('process.exit() was called');
  const store = await desk().store();
  const event = only(await store.events({}, { limit: 2 }));
  expect(event).toMatchObject({ status: 'running', starts: 1, attempts: 1 });
  expect(stderr).toContain(event.id);
});
