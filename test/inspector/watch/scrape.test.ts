import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { scrape } from '../../../src/inspector/watch/scrape.ts';
import { logLines } from '../../support/log-lines.ts';

test('a scrape does without the store, when that does not answer within 5 seconds', async () => {
  const clock = new VirtualClock();
  const never = new Promise<never>(() => {});
  const store = { overview: () => never };
  const asked = scrape({ store, clock, log: logLines().log });
  await clock.advance(5000);
  expect(await asked).toBeUndefined();
});
