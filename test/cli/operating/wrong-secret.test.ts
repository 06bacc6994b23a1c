import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { refusals } from '../../support/traffic.ts';
import { eachPost, listed, operating } from './support.ts';

const post = eachPost();

test('loses nothing, when the wrong secret was imported and the right one follows as written', async () => {
  const { operator, installation, hook, happen, handled } = post();
  const service = await operator.start('npm start');
  const { id, secret } = installation.foreignWebhook(hook);
  operator.here.set('2yW4KmiG', id);
  writeFileSync(join(operator.directory, 'wrong.txt'), 'the-secret-of-quite-another-webhook-0123');
  writeFileSync(join(operator.directory, 'right.txt'), secret);
  await operator.type('npx hookkit webhooks import --id 2yW4KmiG --secret-file wrong.txt');
  await happen(7);
  expect(refusals(installation.mock)).toHaveLength(7);
  expect(service.output()).toMatch(/"reason":"bad signature".*"msg":"notification refused"/);
  const [before = '', right = '', after = '', ...rest] = operating('The wrong secret was imported');
  expect(rest).toEqual([]);
  await listed({ operator }, before, 7);
  expect((await operator.type(right)).stdout).toMatch(/; 1 others are retired$/m);
  await handled(7);
  expect((await operator.type(after)).stdout).toBe('nothing is in quarantine\n');
});

test('loses nothing, when WEBHOOK_SECRET was wrong and the server starts again with the right one', async () => {
  const { operator, installation, hook, happen, handled } = post();
  operator.configure({ WEBHOOK_SECRET: 'the-secret-of-quite-another-webhook-0123' });
  const service = await operator.start('npm start');
  const { secret } = installation.foreignWebhook(hook);
  await happen(4);
  expect(refusals(installation.mock)).toHaveLength(4);
  await service.stop();
  operator.configure({ WEBHOOK_SECRET: secret });
  await operator.start('npm start');
  await handled(4);
});
