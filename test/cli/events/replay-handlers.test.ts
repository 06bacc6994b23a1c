import { expect, jest, test } from '@jest/globals';
import { doSteps, HANDLED, settleAll } from '../../support/claiming.ts';
import { deskForEachTest } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { present } from '../../support/only.ts';
import { verified } from '../../support/verified-notification.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

test('changes nothing, when run dry, and shows how many it would be and the first few', async () => {
  await desk().fill(8);
  const store = await desk().store();
  await store.prune(Date.now() + 1, 1, [present((await eventsIn(store, {}, 8)).at(-1)).seq]);
  await store.record(verified({ media_id: 'waiting', at: Date.UTC(2026, 1) }));
  const { code, stdout, stderr } = await desk().events(['replay', '--dry-run']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^7 events would be replayed, the first of them:\n/);
  expect(stdout.match(/media:media00\d/g)).toEqual([1, 2, 3, 4, 5].map((number) => `media:media00${number}`));
  expect(stderr).toBe(
    '1 more are pending or running: they are handled anyway\n1 more cannot be replayed: their bodies were pruned\n',
  );
  expect(await store.count({ status: 'handled' })).toBe(8);
  const json = JSON.parse((await desk().events(['replay', '--dry-run', '--json'])).stdout);
  expect(json).toMatchObject({ dry_run: true, replayable: 7, under_way: 1, pruned: 1 });
});

test('nothing to replay is an error, unless that is allowed', async () => {
  await desk().fill(1);
  const replay = async (...more: string[]) =>
    (await desk().events(['replay', '--status', 'dead', ...more])).code;
  expect([await replay(), await replay('--dry-run', '--allow-empty')]).toEqual([1, 0]);
});

test('forgets what ctx.once has done, when told to reset steps, and keeps it otherwise', async () => {
  await desk().fill(1);
  const store = await desk().store();
  const [{ id = '' } = {}] = await eventsIn(store, {}, 1);
  await store.replay({});
  await doSteps(store, id, { announce: '1' }, HANDLED);
  await desk().events(['replay', '--all']);
  expect(await store.steps(id)).toHaveLength(1);
  await settleAll(store, HANDLED);
  await desk().events(['replay', '--all', '--reset-steps']);
  expect(await store.steps(id)).toEqual([]);
});
