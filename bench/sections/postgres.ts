import { type AckFigures, measureAcks } from '../acks.ts';
import { runChild } from '../children.ts';
import { onServer, withDatabase } from '../database.ts';
import { atLeast, atMost, goalTable, number, ratio, table } from '../markdown.ts';
import { interleaved, say } from '../measure.ts';
import type { QueueFigures } from '../queues/queue.ts';
import { withScratch } from '../scratch.ts';
import { CONNECTIONS, type Connections, type Sizes } from '../sizes.ts';
import { Target } from '../target.ts';
import type { Section } from './section.ts';

const TARGETS = ['bare-express', 'ours on SQLite', 'ours on PostgreSQL', 'one insert a request'] as const;
type Name = (typeof TARGETS)[number];
type Results = Readonly<Record<Name, AckFigures>>;

const QUEUES = ['SQLite', 'PostgreSQL', 'SQLite, one media', 'PostgreSQL, one media'] as const;

const NOTES = `- The server of BENCH_POSTGRES, whose files should be on the disk of BENCH_DIR: it shares the two cores with what is measured,
  and its processor time is not in \`µs\`.
- \`one insert a request\`: Express, jsonwebtoken with the secret as a string, a pool of ten, one committed insert for each.
- \`ours\`: the whole service with handlers that do nothing; it handles all events meanwhile. Dispatch: as in the section of that
  name, one process.`;

/** Acks and dispatch on PostgreSQL, beside the same on SQLite. */
export const postgres: Section = {
  title: 'PostgreSQL',
  run: (sizes) => onServer((server) => run(server, sizes)),
};

async function run(server: string, sizes: Sizes): Promise<string> {
  const byConnections = new Map<Connections, Results>();
  for (const connections of CONNECTIONS) {
    say(`${connections} connections`);
    const measured = (name: Name) => measure(server, name, connections, sizes);
    byConnections.set(connections, await interleaved(TARGETS, sizes.rounds, measured));
  }
  const queues = await interleaved(QUEUES, sizes.rounds, (name) => measureQueue(server, name, sizes.jobs));
  const head = ['connections', 'target', 'acks/s', 'of ours on SQLite', 'p50 ms', 'p99 ms', 'µs'];
  const rows = [...byConnections].flatMap(([connections, results]) =>
    TARGETS.map((name) => {
      const { perSecond, p50, p99, cpuMicros } = results[name];
      const part = ratio(perSecond, results['ours on SQLite'].perSecond);
      return [
        String(connections),
        name,
        number(perSecond),
        part,
        number(p50, 2),
        number(p99, 2),
        number(cpuMicros),
      ];
    }),
  );
  const dispatched = QUEUES.map((name) => [name, number(queues[name].perSecond)]);
  const busy = byConnections.get(32);
  const goals = busy && [
    atLeast(
      'acks at 32 connections, of ours on SQLite',
      busy['ours on PostgreSQL'].perSecond / busy['ours on SQLite'].perSecond,
      0.8,
    ),
    atLeast(
      'acks at 32 connections, of one insert a request',
      busy['ours on PostgreSQL'].perSecond / busy['one insert a request'].perSecond,
      2,
    ),
    atMost(
      'p99 at 32 connections, of bare Express',
      busy['ours on PostgreSQL'].p99 / busy['bare-express'].p99,
      3,
    ),
  ];
  return [
    table(head, rows),
    table(['dispatch', `events/s, of ${number(sizes.jobs)}`], dispatched),
    NOTES,
    goalTable(goals ?? []),
  ].join('\n\n');
}

function measure(server: string, name: Name, connections: Connections, sizes: Sizes): Promise<AckFigures> {
  return withScratch((directory) =>
    withDatabase(server, async (url) => {
      const target = await startTarget(name, directory, url);
      try {
        return await measureAcks(target, connections, sizes);
      } finally {
        await target.kill();
      }
    }),
  );
}

function startTarget(name: Name, directory: string, url: string): Promise<Target> {
  if (name === 'ours on SQLite') return Target.start('ours', { database: `${directory}/receiver.db` });
  if (name === 'ours on PostgreSQL') return Target.start('ours', { url });
  if (name === 'one insert a request') return Target.start('textbook-postgres', { url });
  return Target.start(name);
}

function measureQueue(server: string, name: (typeof QUEUES)[number], jobs: number): Promise<QueueFigures> {
  return withScratch((directory) =>
    withDatabase(server, (url) =>
      runChild<QueueFigures>('./queues/ours.ts', {
        directory,
        jobs,
        resources: name.endsWith('one media') ? 1 : jobs,
        ...(name.startsWith('PostgreSQL') && { url }),
      }),
    ),
  );
}
