import { expect, test } from '@jest/globals';
import { deskForEachTest } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { verified } from '../../support/verified-notification.ts';

const HOUR_MS = 3_600_000;

const desk = deskForEachTest();

async function bodies(): Promise<number> {
  const events = await eventsIn(await desk().store());
  return events.filter(({ body }) => body !== undefined).length;
}

/** Makes what has ended have ended so many hours earlier. */
function endedEarlier(hours: number): Promise<void> {
  const set = `SET ended_at = ended_at - ${hours * HOUR_MS}`;
  return desk().database.execute({
    sqlite: `UPDATE events ${set}`,
    postgres: `UPDATE hookkit.events ${set}`,
  });
}

test('removes what ended long enough ago and the filter means, in steps, and nothing when run dry', async () => {
  await desk().fill(450, 3);
  await (await desk().store()).record(verified());
  const tooYoung = await desk().events(['prune', '--older-than', '1h']);
  expect(tooYoung).toMatchObject({ code: 0, stdout: '0 events were pruned\n' });
  await endedEarlier(2);
  const filter = ['prune', '--older-than', '1ms', '--resource', 'media:media001'];
  expect((await desk().events([...filter, '--dry-run'])).stdout).toBe('150 events would be pruned\n');
  expect(await bodies()).toBe(451);
  expect((await desk().events(filter)).stdout).toBe('150 events were pruned\n');
  expect(await bodies()).toBe(301);
  expect(await (await desk().store()).count({ resource: 'media:media001' })).toBe(150);
  const rest = await desk().events(['prune', '--older-than', '1ms', '--json']);
  expect(JSON.parse(rest.stdout)).toEqual({ pruned: 300, dry_run: false });
  expect(await bodies()).toBe(1);
});
