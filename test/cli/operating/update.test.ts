import { expect, test } from '@jest/globals';
import { refusals } from '../../support/traffic.ts';
import { eachPost, operating } from './support.ts';

const post = eachPost();

test('goes on where it was, when it is updated and started again as written', async () => {
  const { operator, installation, register, happen, handled, examine } = post();
  const service = await operator.start('npm start');
  await register();
  await happen(3);
  await handled(3);
  const [pull = '', ci = '', offline = '', start = '', doctor = '', ...rest] =
    operating('Update to a new version');
  expect(rest).toEqual([]);
  for (const command of [pull, ci]) await operator.type(command);
  await examine(offline);
  await service.stop();
  await operator.start(start);
  await examine(doctor);
  await happen(2);
  expect(refusals(installation.mock)).toEqual([]);
  await handled(5);
});
