import { expect, test } from '@jest/globals';
import { SITE } from '../../support/installation.ts';
import { refusals, startTraffic } from '../../support/traffic.ts';
import { eachPost, operating, rowsOf } from './support.ts';

const post = eachPost();

test('refuses nothing, when a secret is rotated as written while notifications come', async () => {
  const { operator, installation, register, handled } = post();
  await operator.start('npm start');
  const old = await register();
  const traffic = startTraffic(installation.mock, SITE);
  const [rotate = '', list = '', ...rest] = operating('Rotate a secret');
  expect(rest).toEqual([]);
  const { stdout } = await operator.type(rotate);
  const [, successor] = new RegExp(`^webhook ${old} is replaced by (\\w{8}); `).exec(stdout) ?? [];
  await traffic.stop();
  expect(refusals(installation.mock)).toEqual([]);
  await handled(traffic.count);
  expect(rowsOf((await operator.type(list)).stdout)).toEqual([
    expect.stringMatching(new RegExp(`^${successor} .* live$`)),
    expect.stringMatching(new RegExp(`^${old} .* retiring at \\S+; gone at the provider$`)),
  ]);
});
