import { type EngineName, withDatabase } from './database.ts';
import { fill, handlingMs } from './fill.ts';
import type { QueueOptions } from './graphile-worker.ts';
import { atLeast, atMostRounds, number, type Part, table } from './page.ts';
import { interleaved } from './rounds.ts';
import { withService } from './service.ts';
import type { Sizes } from './sizes.ts';
import { withChild } from './stage.ts';

const OURS = ['SQLite', 'PostgreSQL', 'SQLite, one media', 'PostgreSQL, one media'] as const;
type Name = (typeof OURS)[number] | 'graphile-worker';

const SECONDS = 180;

/** How fast what waits is handled, by handlers that do nothing, beside a job queue on the same server. */
export async function backlog(sizes: Sizes): Promise<Part> {
  const limits = { rounds: sizes.backlogRounds, seconds: SECONDS };
  const names: readonly Name[] = [...OURS, 'graphile-worker'];
  const results = await interleaved(names, limits, (name) => measure(name, sizes));
  const rate = (name: Name) => results[name].perSecond;
  const rows = [
    ...OURS.map((name) => [`ours, ${name}`, number(rate(name))]),
    ['graphile-worker, PostgreSQL', number(rate('graphile-worker'))],
  ];
  return {
    goals: [
      atLeast('backlog of no-ops, SQLite, events/s', 8000, rate('SQLite')),
      atLeast('backlog of no-ops, PostgreSQL, events/s', 8000, rate('PostgreSQL')),
      atLeast('one hot media, SQLite, events/s', 1500, rate('SQLite, one media')),
      atLeast('one hot media, PostgreSQL, events/s', 250, rate('PostgreSQL, one media')),
    ],
    text: `## Backlog\n\n${table(['', 'a second'], rows)}\n\n${notes(sizes)}`,
  };
}

function notes({ backlogRounds, backlog: events, hot }: Sizes): string {
  return `- ${number(events)} events, each of another media, or ${number(hot)} of one, in the database when the service starts; ${atMostRounds(backlogRounds)}. Timed from the start of
  the first handler to the end of the last event. Every attempt is recorded, and no two events of one media run at once.
- [graphile-worker](https://worker.graphile.org): ${number(events)} jobs, 16 at once, with \`localQueue.size\` 500 and results in batches, as its page on
  performance says. It neither records attempts nor keeps jobs of one key apart here.`;
}

async function measure(name: Name, { backlog: jobs, hot }: Sizes): Promise<{ perSecond: number }> {
  if (name === 'graphile-worker') {
    const ms = await withDatabase('PostgreSQL', (url) => {
      const options: QueueOptions = { url, jobs };
      return withChild('./graphile-worker.ts', options, async (took: number) => took);
    });
    return { perSecond: (jobs * 1000) / ms };
  }
  const engine: EngineName = name.startsWith('SQLite') ? 'SQLite' : 'PostgreSQL';
  const isHot = name.endsWith('one media');
  const events = isHot ? hot : jobs;
  const ms = await withDatabase(engine, async (url) => {
    await fill(url, { events, media: isHot ? 1 : events, isPending: true });
    await withService(url, (service) => service.handled());
    return handlingMs(url);
  });
  return { perSecond: (events * 1000) / ms };
}
