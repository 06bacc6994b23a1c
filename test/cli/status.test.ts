import { expect, test } from '@jest/globals';
import { deskForEachTest } from '../support/event-desk.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { runCli } from '../support/run-cli.ts';

const desk = deskForEachTest();
const cli = (...args: string[]) => runCli(args, { env: desk().env, cwd: desk().directory });

test('status says from the database what the overview says, with 1 where something is grave, and needs no server', async () => {
  await desk().fill(2);
  const stopped = await cli('status');
  expect(stopped).toMatchObject({ code: 1, stderr: 'hookkit: 1 of these need attention now\n' });
  expect(stopped.stdout).toMatch(/^grave {6}No server runs on this database\. .*`npm start`/);

  const server = await desk().serve({ WEBHOOK_SECRET: SECRET });
  expect((await deliver(server.url, bodyOf(1))).status).toBe(200);
  await cli('pause', '--reason', 'the archive moves');
  const paused = await cli('status');
  expect(paused.code).toBe(1);
  expect(paused.stdout).toMatch(
    /^grave {6}Handling has been paused for .*: the archive moves\. .*`npx hookkit resume`/,
  );

  await cli('resume');
  const store = await desk().store();
  const isReported = async () => (await store.stats(0, 'kind')).some(({ result }) => result === 'accepted');
  await eventually('it has reported', isReported);
  const { instances, figures } = JSON.parse((await cli('status', '--json')).stdout);
  expect([instances.length, figures.accepted]).toEqual([1, 1]);
  const well = await cli('status');
  expect(well).toMatchObject({ code: 0, stderr: '' });
  expect(well.stdout.split('\n')).toEqual([
    expect.stringMatching(/^ok {9}All is well\. .* The newest event came [\d.]+ m?s ago\.$/),
    expect.stringMatching(/^events {5}pending \d, running \d, dead 0, quarantined 0$/),
    expect.stringMatching(/^last hour {2}received 1, handled \d, runs failed 0, refused 0, not recorded 0$/),
    expect.stringMatching(/^database {3}[\d.]+ MiB/),
    expect.stringMatching(/^instance {3}\S+ \(\d+\.\d+\.\d+.*\): seen [\d.]+ m?s ago, \d running$/),
    '',
  ]);
});
