import { expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { deliver, notification } from '../support/genuine.ts';
import { receiversForEachTest } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const REFUSED = 60;

test('refusals leave few lines and one on how many were left out, when they come from as many sources as there are', async () => {
  const { app, log } = await start({ options: { rejectLimit: 1, trustProxy: 1, refusalLines: 10 } });
  const sources = Array.from({ length: REFUSED }, (_, number) => `198.51.100.${number}`);
  const answers = await Promise.all(
    sources.map((source) => deliver(app, notification(), 'not the secret').set('X-Forwarded-For', source)),
  );
  expect(answers.map(({ status }) => status)).toEqual(sources.map(() => 401));
  const refused = () => log.withMessage('notification refused').length;
  const leftOut = () =>
    log
      .withMessage('more requests were refused than are logged')
      .map((line) => Number(line.leftOut))
      .reduce((sum, count) => sum + count, 0);
  await eventually('every refusal has a line or is counted', () => refused() + leftOut() === REFUSED);
  expect(refused()).toBeLessThan(REFUSED);
  expect(leftOut()).toBeGreaterThan(0);
});
