import { fileURLToPath } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import { deskForEachTest } from '../support/event-desk.ts';
import { eventsIn } from '../support/events-in.ts';
import { type CliOptions, callCli, startCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

jest.setTimeout(60_000);

const desk = deskForEachTest();
const HANDLERS = fileURLToPath(new URL('./handlers/changing.ts', import.meta.url));
const NOON = Date.UTC(2026, 0, 1, 12);
const run = (command: string, options: CliOptions = {}) =>
  callCli(command.split(' '), { ...options, env: { ...desk().env, HANDLERS, ...options.env } });

/** Of four that the app expects, one has come, and one waits in quarantine. */
async function expecting() {
  const store = await desk().store();
  await store.queue.record(verified({ media_id: 'came', at: NOON }));
  const unproven = { ...verified({ media_id: 'quarantined', at: NOON }), token: 'x.y.z', source: '::1' };
  await store.quarantine.add(unproven, 1_000_000);
  return store;
}

test('reconcile says what has not come and records it, once, when it is more than a dry run and no more than most allows, and leaves the times of the server alone', async () => {
  const store = await expecting();
  const counted = await run('reconcile --since 2026-01-01 --dry-run');
  const said = 'Of 4 expected since 2026-01-01 00:00 UTC, 3 had not come, and the pass recorded';
  const kinds = '(2 media_available, 1 media_deleted); of these, 1 waits in quarantine\n';
  const none = `${said} none `;
  expect(counted).toMatchObject({ code: 0, stdout: none + kinds });
  const few = await run('reconcile --since 2026-01-01 --most 2');
  expect(few).toMatchObject({ code: 1, stdout: expect.stringContaining(none) });
  expect(few.stderr).toMatch(/none was recorded: look at the time zone .*; --most N records them\n/);
  expect(await store.queue.count({})).toBe(1);
  const recorded = await run('reconcile --since 2026-01-01');
  expect(recorded).toMatchObject({ code: 0, stdout: `${said} each ${kinds}` });
  const events = await eventsIn(store);
  const reconciled = events.filter(({ origin }) => origin === 'reconciled').map(({ resource }) => resource);
  expect(reconciled.toSorted()).toEqual(['media:gone', 'media:lost', 'media:quarantined']);
  const again = JSON.parse((await run('reconcile --since 2026-01-01 --json')).stdout);
  expect(again).toMatchObject({ expected: 4, missing: {}, recorded: 0, quarantined: 0 });
  expect(await store.reports.lastPass()).toBeUndefined();
});

test('reconcile records nothing, when Ctrl-C ends it while the app still says what it expects', async () => {
  const store = await expecting();
  const env = { ...desk().env, HANDLERS, RECONCILE_WAITS: 'yes' };
  const waiting = startCli(['reconcile', '--since', '2026-01-01'], { env });
  await waiting.says('all is asked for');
  waiting.kill('SIGINT');
  expect(await waiting.ended).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('nothing was recorded'),
  });
  expect(await store.queue.count({})).toBe(1);
});

test('reconcile is refused with what is lacking, when the app says nothing of what it expects', async () => {
  await expecting();
  const { code, stderr } = await run('reconcile', {
    env: { HANDLERS: desk().write('plain.mjs', 'export const handlers = {};') },
  });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/the app has no `reconcile`/),
  });
});
