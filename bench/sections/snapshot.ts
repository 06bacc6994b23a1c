import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { connected } from '../../test/support/postgres-databases.ts';
import { ended, messageFrom, startChild } from '../children.ts';
import { onServer, withDatabase } from '../database.ts';
import { atMost, goalTable, number, table } from '../markdown.ts';
import { say } from '../measure.ts';
import { type Line, plotSvg } from '../plot.ts';
import type { SteadyFigures } from '../queues/steady.ts';
import type { Sizes } from '../sizes.ts';
import type { Section, WriteFile } from './section.ts';

/** Of each queue: its file in `queues/`, and the tables that it claims from. */
const QUEUES = {
  ours: {
    file: 'steady-ours',
    color: '#0072b2',
    tables: ['hookkit.work', 'hookkit.lanes', 'hookkit.ledger'],
  },
  'graphile-worker, local queue': {
    file: 'steady-graphile-worker',
    color: '#d55e00',
    tables: ['graphile_worker._private_jobs'],
  },
  'pg-boss, batches of 16': { file: 'steady-pg-boss', color: '#009e73', tables: ['pgboss.job'] },
} as const;
type Name = keyof typeof QUEUES;
const NAMES = Object.keys(QUEUES) as Name[];

const PER_SECOND = 800;
const PLOT = 'snapshot.svg';

interface TableFacts {
  readonly table: string;
  /** with indexes and partitions */
  readonly bytes: number;
  readonly dead: number;
}

interface Figures extends SteadyFigures {
  readonly before: readonly TableFacts[];
  readonly after: readonly TableFacts[];
}
type Results = Readonly<Record<Name, Figures>>;

/** How queues on PostgreSQL bear a transaction that nobody ends: no row and no index entry can be removed meanwhile. */
export const snapshot: Section = {
  title: 'While a transaction stays open',
  isOneRound: true,
  run: (sizes, write) => onServer((server) => run(server, sizes, write)),
};

async function run(server: string, { snapshotSeconds }: Sizes, write: WriteFile): Promise<string> {
  const results = {} as Record<Name, Figures>;
  for (const name of NAMES) {
    results[name] = await measure(server, name, snapshotSeconds);
    const p50s = results[name].tenths.map(({ p50 }) => number(p50 ?? Number.NaN, 1));
    say(`${name}: p50 of each tenth ${p50s.join(', ')} ms, backlog ${results[name].backlog}`);
  }
  write(PLOT, plot(results, snapshotSeconds));
  return [
    tenthsTable(results),
    factsTable(results),
    `![Milliseconds until a job runs, by the time for which a transaction has been open](${PLOT})`,
    notes(snapshotSeconds),
    goals(results),
  ].join('\n\n');
}

function notes(seconds: number): string {
  return `- In the database of each queue, a transaction REPEATABLE READ has a snapshot for all of ${number(seconds)} s, while ${PER_SECOND} jobs a second
  come in. One queue after the other, each in one process that adds jobs and runs them, 16 at once; a job does nothing.
- Milliseconds are from the moment a job is due to be added until it runs, of the jobs that ran within that tenth of the
  time. A backlog of more than some dozens is that of a queue which did not keep up, and its milliseconds are those of waiting
  in it.
- \`ours\`: each event is recorded by itself, as the receiver does, of 50,000 media in turn, no two of one at once. The others add
  what is due every 10 ms in one statement, and jobs may run in any order. Both are set as in the section on queues;
  pg-boss is notified of jobs.
- Sizes are of the tables that the queues claim from, with indexes and partitions. \`hookkit.ledger\` is only appended to, and
  pg-boss keeps jobs that are done: both grow without a snapshot too.`;
}

/** Runs one queue in a process and a database of its own, beside a snapshot that is older than all of its jobs. */
function measure(server: string, name: Name, seconds: number): Promise<Figures> {
  const { file, tables } = QUEUES[name];
  return withDatabase(server, (url) =>
    connected(url, (holder) =>
      connected(url, async (client) => {
        const child = startChild(`./queues/${file}.ts`, { url, seconds, perSecond: PER_SECOND });
        try {
          await messageFrom(child);
          const before = await factsOf(client, tables);
          await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
          await holder.query('SELECT count(*) FROM pg_class');
          child.send('go');
          const figures = await messageFrom<SteadyFigures>(child);
          await ended(child, 'SIGKILL');
          await sleep(1000); // the server counts what its processes did when they end
          const after = await factsOf(client, tables);
          await holder.query('COMMIT');
          return { ...figures, before, after };
        } finally {
          await ended(child, 'SIGKILL');
        }
      }),
    ),
  );
}

async function factsOf(client: pg.Client, tables: readonly string[]): Promise<TableFacts[]> {
  const { rows } = await client.query<TableFacts>(
    `SELECT name AS table, sum(pg_total_relation_size(relid))::float8 AS bytes, sum(coalesce(n_dead_tup, 0))::float8 AS dead
     FROM unnest($1::text[]) AS names (name)
     CROSS JOIN LATERAL (SELECT name::regclass AS relid UNION SELECT relid FROM pg_partition_tree(name::regclass)) AS related
     LEFT JOIN pg_stat_all_tables USING (relid)
     GROUP BY name ORDER BY array_position($1::text[], name)`,
    [tables],
  );
  return rows;
}

function tenthsTable(results: Results): string {
  const head = NAMES.flatMap((name) => [`${name}: p50 ms`, 'p99 ms', 'jobs/s']);
  const rows = results.ours.tenths.map((_, index) => [
    String(index + 1),
    ...NAMES.flatMap((name) => {
      const tenth = results[name].tenths[index];
      if (tenth?.p50 == null || tenth.p99 === null) return ['', '', '0'];
      return [number(tenth.p50, 1), number(tenth.p99, 1), number(tenth.perSecond)];
    }),
  ]);
  return table(['tenth of the time', ...head], rows);
}

function factsTable(results: Results): string {
  const rows = NAMES.flatMap((name) =>
    results[name].after.map(({ table: tableName, bytes, dead }, index) => [
      index === 0 ? name : '',
      index === 0 ? number(results[name].backlog) : '',
      `\`${tableName}\``,
      number((results[name].before[index]?.bytes ?? Number.NaN) / 1e6, 1),
      number(bytes / 1e6, 1),
      number(dead),
    ]),
  );
  return table(['queue', 'backlog at the end', 'table', 'MB before', 'MB after', 'dead rows after'], rows);
}

function plot(results: Results, seconds: number): string {
  const lineOf = (name: Name, which: 'p50' | 'p99'): Line => ({
    name: `${which} ${name}`,
    color: QUEUES[name].color,
    isDashed: which === 'p99',
    points: results[name].tenths.map((tenth, index) => [((index + 0.5) * seconds) / 10, tenth[which] ?? 0]),
  });
  return plotSvg({
    title: `${PER_SECOND} jobs a second while a transaction stays open`,
    x: 'seconds since the transaction began',
    mostX: seconds,
    y: 'milliseconds until a job runs',
    lines: NAMES.flatMap((name) => [lineOf(name, 'p50'), lineOf(name, 'p99')]),
  });
}

function goals({ ours }: Results): string {
  const first = ours.tenths[0]?.p50 ?? Number.NaN;
  const last = ours.tenths.at(-1)?.p50 ?? Number.NaN;
  return goalTable([
    atMost(
      'ours, p50 of the last tenth, ms (twice that of the first, or 5 ms more)',
      last,
      Math.max(2 * first, first + 5),
    ),
  ]);
}
