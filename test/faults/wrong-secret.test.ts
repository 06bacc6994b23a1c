import { afterAll, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { hookOf, type Installation, install, SITE } from '../support/installation.ts';

let here: Installation;
afterAll(() => here.dispose());

/** `hookkit status`: its code, and whether it says that nothing of a webhook gets in. */
async function status(id: string) {
  const { code, stdout } = await here.cli(['status', '--json']);
  const { concerns } = JSON.parse(stdout) as { concerns: { fault: string; of?: string; grave: boolean }[] };
  return { code, isTold: concerns.some(({ fault, of }) => fault === 'webhook_refused' && of === id) };
}

test('a wrong secret of a webhook in use is grave at the tenth refusal, and no more once the right one is imported', async () => {
  here = await install();
  const service = await here.serve({ INSTANCE_NAME: 'receiver' });
  const { id, secret } = here.foreignWebhook(hookOf(service));
  const imported = (stdin: string, ...more: string[]) =>
    here.json(['webhooks', 'import', '--id', id, ...more], { stdin });
  const happen = async (count: number) => {
    for (let n = 0; n < count; n++) here.mock.createChannel({ site_id: SITE });
    await here.mock.settled();
  };
  await imported(secret);
  await happen(2);
  await imported('the-secret-of-quite-another-webhook-0123', '--now');
  expect((await status(id)).isTold).toBe(false);
  // Each of these waits for a minute at most. For a second or so, the former secret still verifies.
  await eventually('it is told', async () => {
    await happen(12);
    return (await status(id)).isTold;
  });
  expect((await status(id)).code).toBe(1);
  expect((await imported(secret, '--now')).admitted).toBeGreaterThan(9);
  await eventually('it is over', async () => !(await status(id)).isTold);
});
