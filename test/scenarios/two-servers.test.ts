import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';

const database = databaseForEachTest();
const HANDLERS = join(import.meta.dirname, 'handlers/diary.ts');
const EVENTS = size({ small: 100, full: 600 });
const MEDIA = 10;

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
  const DIARY = join(database().directory, 'diary');
  const env = { ...database().env, WEBHOOK_SECRET: SECRET, HANDLERS, DIARY };
  const servers = [await startProcess(env), await startProcess(env)];
  const store = await database().open();

  const bodies = Array.from({ length: EVENTS }, (_, number) => bodyOf(number, number % MEDIA));
  // Each notification goes to both, as if the provider had sent it twice.
  const deliverAll = async () => {
    for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
      const text = body;
      const answers = await Promise.all(
        servers.map(async ({ url }) => (await deliver(url, text)).json() as Promise<{ status: string }>),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual(['accepted', 'duplicate']);
    }
  };
  await Promise.all(Array.from({ length: 8 }, deliverAll));
  await eventually('all are handled', async () => (await store.count({ status: 'handled' })) === EVENTS);
  await Promise.all(servers.map((server) => server.stop()));

  const lines = readFileSync(DIARY, 'utf8').trimEnd().split('\n');
  expect(overlaps(lines)).toEqual([]);
  const begun = lines.filter((line) => line.startsWith('begins'));
  expect([begun.length, new Set(begun).size]).toEqual([EVENTS, EVENTS]);
}, 60_000);
