import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type AckFigures, measureAcks } from '../acks.ts';
import { atLeast, atMost, goalTable, number, ratio, table } from '../markdown.ts';
import { interleaved, median, quantile, say } from '../measure.ts';
import { withScratch } from '../scratch.ts';
import { CONNECTIONS, type Connections, type Sizes } from '../sizes.ts';
import { Target } from '../target.ts';
import { hasWrk } from '../wrk.ts';
import type { Section } from './section.ts';

const TARGETS = ['bare-http', 'bare-express', 'textbook', 'textbook-normal', 'ours'] as const;
type Name = (typeof TARGETS)[number];
type Results = Readonly<Record<Name, AckFigures>>;

const notes = (
  fsyncs: readonly number[],
) => `- An \`fsync\` of this disk takes ${number(median(fsyncs), 2)} ms (median of ${fsyncs.length}, each after 4 KiB were appended to
  a file), 99 of 100 at most ${number(quantile(fsyncs, 0.99), 2)} ms: \`textbook\` waits for one or two at each request.
- \`bare-http\`: \`node:http\` that answers 200; \`bare-express\`: Express 5 with \`express.json()\`. Neither verifies or stores.
- \`textbook\`: jsonwebtoken with the secret as a string, one durable insert a request; \`textbook-normal\`: the same with
  \`synchronous = NORMAL\`, which may lose acknowledged notifications.
- \`ours\`: the whole service, as \`npm start\` runs it, with handlers that do nothing; it handles all events meanwhile.
- \`load\` is the load generator's share of a core (${hasWrk ? 'wrk, one thread' : 'in Node, as wrk is missing here: ratios are too low'}),
  \`µs\` the server's processor time a request, of all its threads, \`KB\` what it had written to files for one.`;

/** Acks a second beside what a receiver could be at best, and beside the one that most would write. */
export const acks: Section = { title: 'Acks', run };

const FSYNCS = 200;

/** How long each fsync of a file takes that was appended to, in milliseconds. */
function measureFsyncs(): Promise<readonly number[]> {
  return withScratch(async (directory) => {
    const file = openSync(join(directory, 'appended'), 'a');
    const page = Buffer.alloc(4096, 1);
    try {
      return Array.from({ length: FSYNCS }, () => {
        writeSync(file, page);
        const began = performance.now();
        fsyncSync(file);
        return performance.now() - began;
      });
    } finally {
      closeSync(file);
    }
  });
}

async function run(sizes: Sizes): Promise<string> {
  const fsyncs = await measureFsyncs();
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
  const times = ['p50 ms', 'p99 ms', 'p99.9 ms', 'µs', 'KB', 'load'];
  return [table([...head, ...times], rows), notes(fsyncs), goals(byConnections)].join('\n\n');
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
  const { perSecond, p50, p99, p999, cpuMicros, writtenKb, load } = results[name];
  const bases = ['bare-express', 'textbook', 'textbook-normal'] as const;
  return [
    String(connections),
    name,
    number(perSecond),
    ...bases.map((base) => ratio(perSecond, results[base].perSecond)),
    ...[p50, p99, p999].map((ms) => number(ms, 2)),
    number(cpuMicros),
    number(writtenKb, 1),
    number(load, 2),
  ];
}

function goals(byConnections: ReadonlyMap<Connections, Results>): string {
  const [one, busy, crowded] = CONNECTIONS.map((connections) => byConnections.get(connections));
  if (!one || !busy || !crowded) return '';
  const share = ({ ours, ...bases }: Results, base: Exclude<Name, 'ours'>) =>
    ours.perSecond / bases[base].perSecond;
  return goalTable([
    atLeast('acks at 32 connections, of bare Express', share(busy, 'bare-express'), 0.5),
    atLeast('acks at 128 connections, of bare Express', share(crowded, 'bare-express'), 0.65),
    atLeast('acks at 32 connections, of textbook', share(busy, 'textbook'), 4.5),
    atLeast('acks at 32 connections, of textbook-normal', share(busy, 'textbook-normal'), 2.2),
    atMost('p50 at 1 connection, of textbook', one.ours.p50 / one.textbook.p50, 1.15),
    atMost('p99 at 32 connections, of bare Express', busy.ours.p99 / busy['bare-express'].p99, 1.5),
    atMost('KB written an ack at 32 connections', busy.ours.writtenKb, 8),
    atMost('KB written an ack at 1 connection', one.ours.writtenKb, 12),
  ]);
}
