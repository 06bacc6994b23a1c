import { expect, test } from '@jest/globals';
import { sinceBoot } from '../../../src/base/since-boot.ts';
import { deskForEachTest } from '../../support/event-desk.ts';
import { present } from '../../support/only.ts';
import { verified } from '../../support/verified-notification.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const desk = deskForEachTest();

async function bodies(): Promise<number> {
  const events = await (await desk().store()).events({}, { limit: 1000 });
  return events.filter(({ body }) => body !== undefined).length;
}

/** Makes what has ended have ended so many hours earlier. */
function endedEarlier(hours: number): Promise<void> {
  const set = `SET handled_at = handled_at - ${hours * HOUR_MS}`;
  return desk().database.execute({
    sqlite: `UPDATE results ${set}`,
    postgres: `UPDATE hookkit.results ${set}`,
  });
}

test('removes all that ended long enough ago, when it is more than a step, and leaves what has not', async () => {
  await desk().fill(450);
  await (await desk().store()).record(verified());
  expect(await desk().events(['prune', '--older-than', '1h'])).toMatchObject({
    code: 0,
    stdout: '0 events were pruned\n',
  });
  expect(await bodies()).toBe(451);
  await endedEarlier(2);
  const { stdout } = await desk().events(['prune', '--older-than', '1ms', '--json']);
  expect(stdout).toBe('{"pruned":450,"dry_run":false}\n');
  expect(await bodies()).toBe(1);
});

test('removes only what a filter means, when one is given, and nothing when run dry', async () => {
  await desk().fill(450, 3);
  await (await desk().store()).record(verified());
  await endedEarlier(2);
  const filter = ['prune', '--older-than', '1ms', '--resource', 'media:media001'];
  expect((await desk().events([...filter, '--dry-run'])).stdout).toBe('150 events would be pruned\n');
  expect(await bodies()).toBe(451);
  expect((await desk().events(filter)).stdout).toBe('150 events were pruned\n');
  expect(await bodies()).toBe(301);
  expect(await (await desk().store()).count({ resource: 'media:media001' })).toBe(150);
});

test('leaves what ended within the last hour before the newest event, when the clock was set ahead since', async () => {
  await desk().fill(5);
  await (await desk().store()).record(verified(), Date.now() - 40 * DAY_MS);
  await endedEarlier(40 * 24 + 0.5);
  const { stdout } = await desk().events(['prune', '--older-than', '30d']);
  expect(stdout).toBe('0 events were pruned\n');
  await endedEarlier(1);
  expect((await desk().events(['prune', '--older-than', '30d'])).stdout).toBe('5 events were pruned\n');
});

const onLinux = sinceBoot() ? test : test.skip; // other systems do not tell how long they have been running
onLinux(
  'removes nothing for an hour, when the clock was behind until just now, and says until when',
  async () => {
    const { machine, ms: sinceBootMs } = present(sinceBoot());
    // As a server did that was started then.
    const store = await desk().store();
    await store.readClock({ machine, sinceBootMs, now: Date.now() - 40 * DAY_MS });
    await desk().fill(5);
    await endedEarlier(40 * 24);
    for (const more of [[], ['--dry-run'], ['--kind', 'media_available']]) {
      const { code, stdout, stderr } = await desk().events(['prune', '--older-than', '30d', ...more]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      const [, until] =
        /clock was found set ahead by 960 h 0 min at .*, so nothing is pruned until (\S+)\n$/.exec(stderr) ??
        [];
      expect(Math.abs(Date.parse(until ?? '') - Date.now() - HOUR_MS)).toBeLessThan(60_000);
    }
    expect(await bodies()).toBe(5);
  },
);

test.each([
  [[], /required option '--older-than <time>' not specified/],
  [['--older-than', '30d', '--status', 'dead'], /dead events are never pruned: give handled or skipped/],
  [['--older-than', 'long'], /must be a number with ms, s, m, h or d/],
])('says what is wrong, when called with %j, and ends with 2', async (args, message) => {
  const { code, stderr } = await desk().events(['prune', ...args]);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
});
