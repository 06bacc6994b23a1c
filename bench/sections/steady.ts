import { setTimeout as sleep } from 'node:timers/promises';
import { ended, startChild } from '../children.ts';
import { atMost, goalTable, number, table } from '../markdown.ts';
import { say } from '../measure.ts';
import { memoryOf } from '../memory.ts';
import type { PacedOptions } from '../paced.ts';
import { serveOn } from '../program.ts';
import { withScratch } from '../scratch.ts';
import type { Sizes } from '../sizes.ts';
import type { Section } from './section.ts';

const PER_SECOND = 800;
const CONNECTIONS = 8;
/** What somebody looks at, once a minute. */
const PAGES = ['/', '/events', '/events?status=dead', '/metrics', '/api/events?limit=50'];

/** What the service holds while events come at an even pace. */
export const steady: Section = { title: 'At an even pace', run, isOneRound: true };

async function run({ steadyMinutes }: Sizes): Promise<string> {
  const held = await withScratch(async (directory) => {
    const { child, port, adminUrl } = await serveOn(`${directory}/receiver.db`);
    const load: PacedOptions = { port, perSecond: PER_SECOND, connections: CONNECTIONS };
    const sender = startChild('./paced.ts', load);
    try {
      const minutes: number[] = [];
      for (let minute = 0; minute < steadyMinutes; minute++) {
        await sleep(60_000);
        if (sender.exitCode !== null) throw new Error('a notification was not accepted');
        await look(adminUrl, PAGES[minute % PAGES.length] ?? '/');
        minutes.push(memoryOf(child.pid, 'VmRSS') ?? Number.NaN);
        say(`minute ${minute + 1}: ${number(minutes.at(-1) ?? Number.NaN)} MB`);
      }
      return minutes;
    } finally {
      await Promise.all([ended(sender, 'SIGKILL'), ended(child, 'SIGKILL')]);
    }
  });
  const shown = [...held.entries()].filter(
    ([minute]) => minute === 0 || (minute + 1) % 5 === 0 || minute === held.length - 1,
  );
  return [
    table(
      ['minute', 'MB'],
      shown.map(([minute, mb]) => [String(minute + 1), number(mb)]),
    ),
    `- \`hookkit serve\` with the sample handlers gets ${PER_SECOND} notifications a second over ${CONNECTIONS} connections, of 50,000
  media in turn; somebody looks at a page of the inspector once a minute. MB (10^6 bytes) are VmRSS of the process,
  which has MALLOC_ARENA_MAX=2 in its environment, as Dockerfile and deploy/ set it.`,
    goalTable([atMost(`after ${held.length} minutes, MB`, held.at(-1) ?? Number.NaN, 200)]),
  ].join('\n\n');
}

async function look(adminUrl: string, path: string): Promise<void> {
  const answer = await fetch(new URL(path, adminUrl));
  const body = await answer.text();
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${body}`);
}
