import { expect, test } from '@jest/globals';
import { refusals } from '../../support/traffic.ts';
import { eachPost, operating, rowsOf } from './support.ts';

const post = eachPost();

test('takes what the provider sends, when a webhook is registered as written', async () => {
  const { operator, installation, register, happen, handled, examine } = post();
  await operator.start('npm start');
  const [, list = '', doctor = '', ...rest] = operating('Register a webhook');
  expect(rest).toEqual([]);
  const id = await register();
  expect(rowsOf((await operator.type(list)).stdout)).toEqual([
    expect.stringMatching(new RegExp(`^${id} .* live$`)),
  ]);
  expect(await examine(doctor)).not.toMatch(/^(warn|FAIL|skipped)/m);
  await happen(5);
  expect(refusals(installation.mock)).toEqual([]);
  await handled(5);
});
