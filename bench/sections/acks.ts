import { type AckFigures, measureAcks } from '../acks.ts';
import { atLeast, atMost, goalTable, number, ratio, table } from '../markdown.ts';
import { interleaved, say } from '../measure.ts';
import { withScratch } from '../scratch.ts';
import { CONNECTIONS, type Connections, type Sizes } from '../sizes.ts';
import { Target } from '../target.ts';
import type { Section } from './section.ts';

const TARGETS = ['bare-http', 'bare-express', 'textbook', 'textbook-normal', 'ours'] as const;
type Name = (typeof TARGETS)[number];
type Results = Readonly<Record<Name, AckFigures>>;

const NOTES = `- \`bare-http\`: \`node:http\` that answers 200; \`bare-express\`: Express 5 with \`express.json()\`. Neither verifies or stores.
- \`textbook\`: jsonwebtoken with the secret as a string, one durable insert a request; \`textbook-normal\`: the same with
  \`synchronous = NORMAL\`, which may lose acknowledged notifications.
- \`ours\`: the whole service, as \`npm start\` runs it, with handlers that do nothing; it handles all events meanwhile.
- \`load\` is the load generator's share of a core, \`µs\` the server's processor time a request, of all its threads.`;

/** Acks a second beside what a receiver could be at best, and beside the one that most would write. */
export const acks: Section = { title: 'Acks', run };

async function run(sizes: Sizes): Promise<string> {
  const byConnections = new Map<Connections, Results>();
  for (const connections of CONNECTIONS) {
    say(`${connections} connections`);
    byConnections.set(
      connections,
      await interleaved(TARGETS, sizes.rounds, (name) => measure(name, connections, sizes)),
    );
  }
  const rows = [...byConnections].flatMap(([connections, results]) =>
    TARGETS.map((name) => rowOf(connections, name, results)),
  );
  const head = ['connections', 'target', 'acks/s', 'of bare Express', 'of textbook', 'of textbook-normal'];
  const times = ['p50 ms', 'p99 ms', 'p99.9 ms', 'µs', 'load'];
  return [table([...head, ...times], rows), NOTES, goals(byConnections)].join('\n\n');
}

function measure(name: Name, connections: Connections, sizes: Sizes): Promise<AckFigures> {
  return withScratch(async (directory) => {
    const target = await startTarget(name, directory);
    try {
      return await measureAcks(target, connections, sizes);
    } finally {
      await target.kill();
    }
  });
}

function startTarget(name: Name, directory: string): Promise<Target> {
  if (name === 'ours') return Target.start('ours', { database: `${directory}/receiver.db` });
  if (name === 'textbook') return Target.start('textbook', { directory, synchronous: 'FULL' });
  if (name === 'textbook-normal') return Target.start('textbook', { directory, synchronous: 'NORMAL' });
  return Target.start(name);
}

function rowOf(connections: number, name: Name, results: Results): string[] {
  const { perSecond, p50, p99, p999, cpuMicros, load } = results[name];
  const bases = ['bare-express', 'textbook', 'textbook-normal'] as const;
  return [
    String(connections),
    name,
    number(perSecond),
    ...bases.map((base) => ratio(perSecond, results[base].perSecond)),
    ...[p50, p99, p999].map((ms) => number(ms, 2)),
    number(cpuMicros),
    number(load, 2),
  ];
}

function goals(byConnections: ReadonlyMap<Connections, Results>): string {
  const busy = byConnections.get(32);
  const crowded = byConnections.get(128);
  if (!busy || !crowded) return '';
  const of = (base: Name) => busy.ours.perSecond / busy[base].perSecond;
  return goalTable([
    atLeast('acks at 32 connections, of bare Express', of('bare-express'), 0.5),
    atLeast('acks at 32 connections, of textbook', of('textbook'), 6),
    atLeast('acks at 32 connections, of textbook-normal', of('textbook-normal'), 2.2),
    atMost(
      'p99 at 128 connections, ms (15, or three times that of bare Express)',
      crowded.ours.p99,
      Math.max(15, 3 * crowded['bare-express'].p99),
    ),
  ]);
}
