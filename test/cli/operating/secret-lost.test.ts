import { expect, test } from '@jest/globals';
import { refusals } from '../../support/traffic.ts';
import { eachPost, listed, operating } from './support.ts';

const post = eachPost();

test('goes on with a new secret and shows what was missed, when the old one is lost and it is done as written', async () => {
  const { operator, installation, hook, happen, handled } = post();
  const service = await operator.start('npm start');
  const { id } = installation.foreignWebhook(hook); // nobody knows its secret
  operator.here.set('2yW4KmiG', id);
  await happen(2);
  const [rotate = '', list = '', ...rest] = operating('The secret was lost');
  expect(rest).toEqual([]);
  expect((await operator.type(rotate)).stdout).toMatch(/no secret of \w+ was stored/);
  await happen(3);
  expect(refusals(installation.mock).map(({ webhook_id }) => webhook_id)).toEqual([id, id]);
  await handled(3);
  await listed({ operator }, list, 2);
  await service.stop();
});
