import { runChild } from '../children.ts';
import { atLeast, goalTable, number, ratio, table } from '../markdown.ts';
import { interleaved } from '../measure.ts';
import type { QueueFigures } from '../queues/queue.ts';
import { withScratch } from '../scratch.ts';
import type { Sizes } from '../sizes.ts';
import type { Section } from './section.ts';

const CASES = [
  'ours',
  'ours, ten times as many',
  'ours, one media',
  'plainjob',
  'plainjob, 2 processes',
  'plainjob, NORMAL',
  'plainjob, 2 processes, NORMAL',
  'liteque',
  'liteque, NORMAL',
] as const;
type Case = (typeof CASES)[number];

/** Those that are the more durable, or the faster, of what the two packages offer. */
const isTheirs = (name: Case, isNormal: boolean) =>
  !name.startsWith('ours') && name.endsWith('NORMAL') === isNormal;

const NOTES = `- A job is a row in a database that does nothing when its turn comes. All jobs exist before the clock starts, and the benchmark
  checks that all are done when it ends.
- \`ours\`: from pending to handled, each of another media, 16 at once; every attempt is recorded, and no two of one media
  run at once. \`ours, one media\`: all are of the same, so that they run one after the other. Acks wait for the disk;
  claims and results do not: an event whose result is lost runs again. \`ours, ten times as many\`: the others are done within a
  second or so, which V8 needs to compile what they run; of so many events it is a small part.
- [plainjob](https://www.npmjs.com/package/plainjob) 0.0.14 does one job after the other in a process; its documentation
  advises several processes for high throughput, where a job that it gives up as the database is locked counts as done here. [liteque](https://www.npmjs.com/package/liteque) 0.8.0 runs 16 at once.
  Neither records attempts. Both set \`synchronous = NORMAL\` by themselves; rows without NORMAL in their name use FULL.
- This version of better-sqlite3 refuses liteque's transactions, so here it runs its statements without them.`;

/** Events a second from pending to handled, beside two job queues on SQLite. */
export const dispatch: Section = { title: 'Dispatch', run };

async function run(sizes: Sizes): Promise<string> {
  const results = await interleaved(CASES, sizes.rounds, (name) => measure(name, sizes.jobs));
  const rate = (name: Case) => results[name].perSecond;
  const best = (isNormal: boolean) =>
    Math.max(...CASES.filter((name) => isTheirs(name, isNormal)).map((name) => rate(name)));
  const rows = CASES.map((name) => [
    name,
    number(rate(name)),
    ratio(rate(name), rate('ours')),
    name.includes('processes') ? '' : number(results[name].cpuMicros),
  ]);
  return [
    table(['queue', `jobs/s, of ${number(sizes.jobs)}`, 'of ours', 'µs of processor a job'], rows),
    NOTES,
    goalTable([
      atLeast('ours, ten times as many, events/s', rate('ours, ten times as many'), 25_000, 0),
      atLeast('ours, one media, events/s', rate('ours, one media'), 6000, 0),
      atLeast('ours, of the better of the two with FULL', rate('ours') / best(false), 2),
      atLeast('ours, of the better of the two with NORMAL', rate('ours') / best(true), 2),
    ]),
  ].join('\n\n');
}

function measure(name: Case, jobs: number): Promise<QueueFigures> {
  const [queue = ''] = name.split(',');
  const all = name === 'ours, ten times as many' ? 10 * jobs : jobs;
  return withScratch((directory) =>
    runChild<QueueFigures>(`./queues/${queue}.ts`, {
      directory,
      jobs: all,
      synchronous: name.endsWith('NORMAL') ? 'NORMAL' : 'FULL',
      processes: name.includes('processes') ? 2 : 1,
      resources: name === 'ours, one media' ? 1 : all,
    }),
  );
}
