import { join } from 'node:path';
import Database from 'better-sqlite3';
import { withDatabase } from './database.ts';
import { atLeast, atMost, atMostRounds, number, type Part, table } from './page.ts';
import { interleaved } from './rounds.ts';
import { untilHandled, withService } from './service.ts';
import type { Sizes } from './sizes.ts';
import { withChild, withScratch } from './stage.ts';
import { subscribers } from './subscribers.ts';
import type { TargetOptions } from './targets.ts';
import { type Loaded, load } from './wrk.ts';

const NAMES = [
  'bare Express',
  'textbook',
  'textbook-normal',
  'plainjob',
  'plainjob-normal',
  'ours',
  'ours, PostgreSQL',
] as const;
type Name = (typeof NAMES)[number];

/** NaN where it is not measured. */
interface AckFigures {
  readonly at32: number;
  readonly p99at32: number;
  /** events that were not handled when the load had ended */
  readonly left32: number;
  readonly at128: number;
  readonly left128: number;
  readonly p50at1: number;
}

/** A server under load. */
interface Target {
  readonly port: number;
  /** resolves once all is handled, with how much was not */
  readonly handled?: () => Promise<number>;
}

const SECONDS = 480;
/** plainjob's acks stop and go on every two seconds or so: a load has to last for some of these. */
const PLAINJOB_LOADS = 2;

/** Acks a second and how long they take, beside what does less. */
export async function acks(sizes: Sizes): Promise<Part> {
  const limits = { rounds: sizes.ackRounds, seconds: SECONDS };
  const results = await interleaved(NAMES, limits, (name) => measure(name, sizes));
  const { ours, textbook, plainjob, 'bare Express': express } = results;
  const postgres = results['ours, PostgreSQL'];
  const rows = NAMES.map((name) => {
    const { at32, p99at32, left32, at128, left128, p50at1 } = results[name];
    const share = (one: number, all: number) => number(one / all, 2);
    return [
      name,
      number(at32),
      share(at32, express.at32),
      number(p99at32, 1),
      number(left32),
      number(at128),
      share(at128, express.at128),
      number(left128),
      number(p50at1, 2),
    ];
  });
  const head = [
    '',
    '32: acks/s',
    'of bare Express',
    'p99 ms',
    'left',
    '128: acks/s',
    'of bare Express',
    'left',
  ];
  return {
    goals: [
      atLeast('acks/s at 32 connections, of bare Express', 0.33, ours.at32 / express.at32, 2),
      atLeast('of a receiver with plainjob and synchronous FULL', 5, ours.at32 / plainjob.at32, 2),
      atLeast("of the same with plainjob's own NORMAL", 2.2, ours.at32 / results['plainjob-normal'].at32, 2),
      atLeast(
        'of a textbook receiver with synchronous NORMAL',
        1.6,
        ours.at32 / results['textbook-normal'].at32,
        2,
      ),
      atLeast('at 128 connections, of bare Express', 0.4, ours.at128 / express.at128, 2),
      atMost('p50 at 1 connection, of textbook FULL', 1.4, ours.p50at1 / textbook.p50at1, 2),
      atLeast('PostgreSQL, acks/s at 32', 3200, postgres.at32),
    ],
    text: `## Acks\n\n${table([...head, '1: p50 ms'], rows)}\n\n${notes(sizes)}\n\n${await subscribers(sizes)}`,
  };
}

function notes({ ackRounds, load: seconds, warmUp }: Sizes): string {
  return `- Of ${atMostRounds(ackRounds)}, each target once a round: after ${warmUp} s of warming up, ${seconds} s over 32 connections, 128 and 1 (wrk, one thread);
  ${PLAINJOB_LOADS * seconds} s for plainjob.
- \`bare Express\` verifies and stores nothing. \`textbook\`: jsonwebtoken with the secret as a string and one insert a request on
  the thread that answers, \`synchronous = FULL\`; \`textbook-normal\`: the same with NORMAL, which may lose what it acknowledged.
- \`plainjob\`: what one would build in place of the kit. Express, jsonwebtoken and a job a request in
  [plainjob](https://www.npmjs.com/package/plainjob), a queue on SQLite, whose worker runs a job that does nothing in the same process.
  \`synchronous = FULL\`, as ours; \`plainjob-normal\`: with NORMAL, which plainjob sets. The worker keeps the thread until no job waits, and
  then sleeps for a second.
- \`left\`: events or jobs that were not handled yet when the load had ended.`;
}

function measure(name: Name, sizes: Sizes): Promise<AckFigures> {
  return withTarget(name, async ({ port, handled = async () => Number.NaN }) => {
    const under = async (series: string, connections: number, seconds = sizes.load) => {
      const mayRepeat = name === 'bare Express';
      const loaded = await load({ port, connections, seconds, series, mayRepeat });
      return { ...loaded, left: await handled() };
    };
    const nothing: Loaded & { left: number } = {
      perSecond: Number.NaN,
      p50: Number.NaN,
      p99: Number.NaN,
      left: Number.NaN,
    };
    await under('warm-up', 32, sizes.warmUp);
    const at32 = await under('32', 32, (name.startsWith('plainjob') ? PLAINJOB_LOADS : 1) * sizes.load);
    const at128 = name === 'ours' || name === 'bare Express' ? await under('128', 128) : nothing;
    const at1 = name === 'ours' || name === 'textbook' ? await under('1', 1) : nothing;
    return {
      at32: at32.perSecond,
      p99at32: at32.p99,
      left32: at32.left,
      at128: at128.perSecond,
      left128: at128.left,
      p50at1: at1.p50,
    };
  });
}

function withTarget<T>(name: Name, use: (target: Target) => Promise<T>): Promise<T> {
  if (name === 'ours' || name === 'ours, PostgreSQL')
    return withDatabase(name === 'ours' ? 'SQLite' : 'PostgreSQL', (url) => withService(url, use));
  const other = (options: TargetOptions, rest?: Pick<Target, 'handled'>) =>
    withChild<number, T>('./targets.ts', options, (port) => use({ port, ...rest }));
  if (name === 'bare Express') return other({ target: 'bare' });
  const synchronous = name.endsWith('-normal') ? 'NORMAL' : 'FULL';
  return withScratch((directory) => {
    const file = join(directory, 'receiver.db');
    if (!name.startsWith('plainjob')) return other({ target: 'textbook', file, synchronous });
    const handled = () => untilHandled(async () => waiting(file));
    return other({ target: 'plainjob', file, synchronous }, { handled });
  });
}

/** How many jobs of plainjob are pending or run. The file is asked, as the process answers only once none are. */
function waiting(file: string): number {
  const db = new Database(file, { readonly: true });
  try {
    return Number(db.prepare('SELECT count(*) FROM plainjob_jobs WHERE status < 2').pluck().get());
  } finally {
    db.close();
  }
}
