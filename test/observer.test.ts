import { expect, test } from '@jest/globals';
import { VirtualClock } from '../src/base/virtual-clock.ts';
import { Watch } from '../src/inspector/watch/watch.ts';
import { harmless } from '../src/observer.ts';
import { logLines } from './support/log-lines.ts';

const COMMITTED = 'webhook_store_commit_seconds_count';

test('an observer that throws is told of in the log, ten seconds apart, and its error goes no further', async () => {
  const clock = new VirtualClock();
  const { log, withMessage: logged } = logLines();
  const watch = new Watch(clock);
  const observer = harmless(() => watch, log, clock);
  observer.committed(1);
  Object.defineProperty(Object.prototype, 'evil', { value: 1, enumerable: true, configurable: true });
  try {
    for (let second = 0; second < 15; second++) {
      observer.committed(1);
      await clock.advance(1000);
    }
  } finally {
    Reflect.deleteProperty(Object.prototype, 'evil');
  }
  observer.committed(1);
  const lines = logged('cannot count; metrics and figures are incomplete');
  expect(lines).toMatchObject([{ error: expect.stringContaining('evil') }, { leftOut: 9 }]);
  expect(await watch.metrics.text(undefined, clock.now())).toMatch(new RegExp(`^${COMMITTED} 2$`, 'm'));
});
