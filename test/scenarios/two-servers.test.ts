import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { databaseForEachTest, ENGINE } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';

const database = databaseForEachTest();

/** On PostgreSQL there is one size. */
const EVENTS = ENGINE === 'postgres' ? 300 : size({ small: 60, full: 600 });
const MEDIA = 10;

function bodyOf(number: number): string {
  return JSON.stringify({
    event: 'media_available',
    media_id: `media${number % MEDIA}`,
    webhook_id: 'hook0001',
    site_id: 'site0001',
    event_time: new Date(Date.UTC(2026, 0, 1, 0, 0, number)).toISOString().replace('.000Z', '+00:00'),
  });
}

/** The media of which two events were at work at once, as a diary tells. */
function overlaps(lines: readonly string[]): string[] {
  const atWork = new Set<string>();
  return lines.flatMap((line) => {
    const [what, media = ''] = line.split(' ');
    if (what === 'ends') atWork.delete(media);
    else if (atWork.has(media)) return [line];
    else atWork.add(media);
    return [];
  });
}

test('two servers on one database handle each event once, when both take notifications, and never two of one media at once', async () => {
  const diary = join(database().directory, 'diary');
  const handlers = new URL(`./handlers/diary.ts?diary=${encodeURIComponent(diary)}`, import.meta.url);
  const env = { ...database().env, WEBHOOK_SECRET: SECRET };
  const servers = [await startProcess(env, handlers), await startProcess(env, handlers)];
  const store = await database().open();

  const bodies = Array.from({ length: EVENTS }, (_, number) => bodyOf(number));
  // Each notification goes to both, as if the provider had sent it twice.
  const deliverAll = async () => {
    for (let body = bodies.pop(); body; body = bodies.pop()) {
      const text = body;
      const answers = await Promise.all(servers.map(({ url }) => deliver(url, text)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      const results = await Promise.all(
        answers.map(async (one) => ((await one.json()) as { status: string }).status),
      );
      expect(results.toSorted()).toEqual(['accepted', 'duplicate']);
    }
  };
  await Promise.all(Array.from({ length: 8 }, deliverAll));
  await eventually('all are handled', async () => (await store.count({ status: 'handled' })) === EVENTS);
  for (const { child } of servers) child.kill('SIGTERM');
  expect(await Promise.all(servers.map(({ exited }) => exited))).toEqual([0, 0]);

  const lines = readFileSync(diary, 'utf8').trimEnd().split('\n');
  expect(overlaps(lines)).toEqual([]);
  const begun = lines.filter((line) => line.startsWith('begins'));
  expect(begun).toHaveLength(EVENTS);
  expect(new Set(begun).size).toBe(EVENTS);
}, 60_000);
