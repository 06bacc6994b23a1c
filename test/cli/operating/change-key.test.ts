import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { testOfFiles as test } from '../../support/engine.ts';
import { eachPost, handledIn, operating } from './support.ts';

const post = eachPost();

// The key is in a file.
test('changes the key beside a running server, which goes on, when it is done as written', async () => {
  const { operator, register, happen } = post();
  const service = await operator.start('npm start');
  await register();
  const key = () => readFileSync(join(operator.directory, 'data', 'receiver.db.key'), 'utf8');
  const before = key();
  const [rekey = '', ...rest] = operating('Change the key');
  expect(rest).toEqual([]);
  expect((await operator.type(rekey)).stdout).toContain('sealed under the new key');
  expect(key()).not.toBe(before);
  await happen(2);
  await handledIn(operator.directory, 2);
  await service.stop();
});
