import { fileURLToPath } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import { deskForEachTest } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
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
  const event = only(await eventsIn(store, {}, 2));
  expect(event).toMatchObject({ status: 'running', starts: 1, attempts: 0 });
  expect(stderr).toContain(event.id);
});

test('a replay that is interrupted counts the events that end at its stop as well', async () => {
  await desk().fill(40);
  const HANDLERS_OF_A_SECOND = desk().write(
    'second.mjs',
    `import { writeSync } from 'node:fs';
     export const handlers = { async media_available() {
       writeSync(2, 'it begins\\n');
       await new Promise((resolve) => setTimeout(resolve, 1000));
     } };`,
  );
  let hasBegun = false;
  const { code, stderr } = await desk().spawnEvents(['replay', '--all', '--run'], {
    env: { HANDLERS: HANDLERS_OF_A_SECOND, DISPATCH_CONCURRENCY: '4' },
    onSpawn: (child) =>
      child.stderr?.on('data', (text) => {
        if (!hasBegun && String(text).includes('it begins')) child.kill('SIGINT');
        hasBegun ||= String(text).includes('it begins');
      }),
  });
  const ended = (await eventsIn(await desk().store(), {}, 50)).filter(({ attempts }) => attempts > 0);
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`^40 events were reset, and ${ended.length} of them have ended$`, 'm'));
  expect(ended.length).toBeGreaterThan(0);
  expect(ended.length).toBeLessThan(40);
});
