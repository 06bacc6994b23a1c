import { expect, test } from '@jest/globals';
import { refusals } from '../../support/traffic.ts';
import { eachPost, handled, operating } from './support.ts';

const post = eachPost();

test('goes on where it was, when it is updated and started again as written', async () => {
  const { operator, installation, register, happen } = post();
  const service = await operator.start('npm start');
  await register();
  await happen(3);
  await handled(operator.directory, 3);
  const [pull = '', ci = '', offline = '', start = '', doctor = '', ...rest] =
    operating('Update to a new version');
  expect(rest).toEqual([]);
  for (const command of [pull, ci, offline]) await operator.type(command);
  await service.stop();
  await operator.start(start);
  expect((await operator.type(doctor)).stdout).not.toMatch(/^FAIL/m);
  await happen(2);
  expect(refusals(installation.mock)).toEqual([]);
  await handled(operator.directory, 5);
});
