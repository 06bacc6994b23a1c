import { expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import { eachPost, operating, rowsOf } from './support.ts';

const post = eachPost();
const failing = new URL('../../support/failing-handlers.ts', import.meta.url);

test('is handled after all, when an event died, its cause is put right, and it is replayed as written', async () => {
  const { operator, register, happen, count, handled, examine } = post();
  const service = await operator.start('npm start', { handlersModule: failing });
  await register();
  await happen(3);
  await eventually('all are dead', async () => (await count('dead')) === 3);
  expect(await examine('npx hookkit doctor')).toMatch(/^warn +events +.* 3 dead/m);
  await service.stop();
  await operator.start('npm start');
  const [list = '', dryRun = '', replay = '', ...rest] = operating('Dead events');
  expect(rest).toEqual([]);
  const { stdout } = await operator.type(list);
  expect(rowsOf(stdout)).toHaveLength(3);
  expect(stdout).toContain('the page of live channels is down');
  await operator.type(dryRun);
  expect(await count('dead')).toBe(3);
  await operator.type(replay);
  await handled(3);
});
