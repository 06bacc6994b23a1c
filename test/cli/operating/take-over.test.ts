import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { refusals } from '../../support/traffic.ts';
import { eachPost, operating } from './support.ts';

const post = eachPost();

test('takes over a webhook with all that came before its secret, when done as written', async () => {
  const { operator, installation, hook, happen, handled, examine } = post();
  await operator.start('npm start');
  const { id, secret } = installation.foreignWebhook(hook);
  operator.here.set('2yW4KmiG', id);
  const file = join(operator.directory, 'secret.txt');
  writeFileSync(file, `${secret}\n`);
  await happen(3);
  expect(refusals(installation.mock)).toHaveLength(3);
  const [imported = '', remove = '', update = '', doctor = '', ...rest] = operating(
    'Take over a webhook that exists',
  );
  expect(rest).toEqual([]);
  await operator.type(imported);
  await operator.type(remove);
  expect(existsSync(file)).toBe(false);
  await operator.type(update);
  await examine(doctor);
  await handled(3);
});
