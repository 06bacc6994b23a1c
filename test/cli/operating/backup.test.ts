import { expect } from '@jest/globals';
import { testOfFiles as test } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { SITE } from '../../support/installation.ts';
import { refusals, startTraffic } from '../../support/traffic.ts';
import { countIn, eachPost, handledIn, operating } from './support.ts';

const post = eachPost();

// What is backed up is a file.
test('is as it was at the backup and goes on from there, when backed up under traffic and restored as written', async () => {
  const { operator, installation, register, happen } = post();
  operator.configure({ LEASE_MS: '500' }); // what was running at the backup runs again after that
  const service = await operator.start('npm start');
  await register();
  const traffic = startTraffic(installation.mock, SITE);
  await eventually('something is recorded', () => countIn(operator.directory) > 0);
  const [makeDirectories = '', copy = '', copyKey = '', ...restore] = operating('Back up and restore');
  for (const command of [makeDirectories, copy, copyKey]) await operator.type(command);
  await traffic.stop();
  await handledIn(operator.directory, traffic.count);
  await service.stop();

  const [remove = '', database = '', key = '', doctor = '', start = '', ...rest] = restore;
  expect(rest).toEqual([]);
  for (const command of [remove, database, key]) await operator.type(command);
  const restored = countIn(operator.directory);
  expect(restored).toBeGreaterThan(0);
  expect((await operator.type(doctor)).stdout).not.toMatch(/^FAIL/m);
  await operator.start(start);
  await happen(2); // the restored secrets verify
  expect(refusals(installation.mock)).toEqual([]);
  await handledIn(operator.directory, restored + 2);
});
