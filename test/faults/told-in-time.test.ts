import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { deskForEachTest } from '../support/event-desk.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { callCli } from '../support/run-cli.ts';

const desk = deskForEachTest();
const settings = () => ({
  ...desk().env,
  HANDLER_TIMEOUT_MS: '1000',
  DISPATCH_CONCURRENCY: '4',
  LEASE_MS: '2000',
});

const serve = (handlers: string) =>
  desk().serve({
    ...settings(),
    ...{ HANDLERS: join(import.meta.dirname, 'handlers', handlers), WEBHOOK_SECRET: SECRET },
  });

/** Waits until `hookkit status` says something, for a minute at most, and with its exit code. */
const says = (what: RegExp, code: number) =>
  eventually(`status says ${what}`, async () => {
    const said = await callCli(['status'], { env: settings(), cwd: desk().directory });
    return said.code === code && what.test(said.stdout);
  });

test('handlers that never resolve are told with their kind and site, until a restart, and the process stays ready', async () => {
  const service = await serve('endless.ts');
  const statusOf = async (number: number) => (await deliver(service.url, bodyOf(number))).status;
  for (let number = 0; number < 9; number++) expect(await statusOf(number)).toBe(200);
  await says(
    /^grave +Handlers past their time hold 4 places of instance .*: media_available of site site0001 \(4\)/,
    1,
  );
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  expect(await statusOf(9)).toBe(200);
  service.child.kill('SIGTERM');
  await service.exited;
  await serve('quick.ts');
  await says(/^ok +All is well.*\nevents +pending 0, running 0, dead 0/, 0);
}, 180_000);
