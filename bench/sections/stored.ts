import { type AckFigures, measureAcks } from '../acks.ts';
import { bytesAnEvent, filledDatabase } from '../filled.ts';
import { atLeast, atMost, goalTable, number, ratio, table } from '../markdown.ts';
import { interleaved, say } from '../measure.ts';
import { type Started, startService } from '../program.ts';
import { withScratch } from '../scratch.ts';
import { CONNECTIONS, type Connections, type Sizes } from '../sizes.ts';
import { settle, Target } from '../target.ts';
import type { Section } from './section.ts';

const CASES = ['empty', 'filled'] as const;
type Case = (typeof CASES)[number];

interface Loaded extends AckFigures {
  /** of database, after the acks */
  readonly bytes: number;
}

type Results = Readonly<Record<Connections, Readonly<Record<Case, Loaded>>>>;
type Starts = Readonly<Record<Case, Started>>;

/** Acks, start-up, memory and room on disk with very many events stored, beside a database that has none. */
export const stored: Section = { title: 'With many events stored', run };

async function run(sizes: Sizes): Promise<string> {
  const filled = filledDatabase(sizes.stored);
  await settle(filled);
  const { events } = bytesAnEvent(filled);
  const compare = <F extends { readonly [K in keyof F]: number }>(
    measure: (database: string) => Promise<F>,
  ) =>
    interleaved(CASES, sizes.rounds, (name) =>
      withScratch((directory) => measure(name === 'filled' ? filled : `${directory}/receiver.db`)),
    );
  const acksAt = (connections: Connections) => {
    say(`${connections} connections`);
    return compare((database) => measureLoaded(database, connections, sizes));
  };
  const starts = await compare((database) => measureStarted(database, sizes));
  const results: Results = { 1: await acksAt(1), 32: await acksAt(32), 128: await acksAt(128) };
  return [acksTable(results), otherTable(starts, results), notes(events, sizes), goals(starts, results)].join(
    '\n\n',
  );
}

function notes(events: number, { restMs }: Sizes): string {
  return `- \`filled\` has ${number(events)} events of a year and more with every round.
- Ready: from the start of the process \`hookkit serve\` until \`/readyz\` answers 200. At rest: the memory of that process
  ${number(restMs / 1000, 1)} s later (VmRSS). MB are 10^6 bytes.
- Under load: its largest memory at 32 connections. Bytes an event: the file after a checkpoint, attempts and all indexes
  included; \`filled\` was filled in bulk, while the events that \`empty\` has afterwards came through the service.`;
}

/** Starts the service twice: only the first has a schema to make. */
async function measureStarted(database: string, { restMs }: Sizes): Promise<Started> {
  await startService(database, 0);
  return startService(database, restMs);
}

/** Loads the service on a database until all is handled. */
async function measureLoaded(database: string, connections: Connections, sizes: Sizes): Promise<Loaded> {
  const target = await Target.start('ours', { database });
  try {
    const acks = await measureAcks(target, connections, sizes);
    await target.stop();
    return { ...acks, bytes: bytesAnEvent(database).bytes };
  } finally {
    await target.kill();
  }
}

function acksTable(results: Results): string {
  const rows = CONNECTIONS.flatMap((connections) =>
    CASES.map((name) => {
      const { perSecond, p50, p99, p999 } = results[connections][name];
      return [
        String(connections),
        name,
        number(perSecond),
        ratio(perSecond, results[connections].empty.perSecond),
        ...[p50, p99, p999].map((ms) => number(ms, 2)),
      ];
    }),
  );
  return table(['connections', 'database', 'acks/s', 'of empty', 'p50 ms', 'p99 ms', 'p99.9 ms'], rows);
}

function otherTable(starts: Starts, results: Results): string {
  const rows = CASES.map((name) => {
    const { peakMb, bytes } = results[32][name];
    const { readyMs, restMb } = starts[name];
    return [name, ...[readyMs, restMb, peakMb, bytes].map((value) => number(value))];
  });
  return table(['database', 'ready after ms', 'MB at rest', 'MB under load', 'bytes an event'], rows);
}

function goals(starts: Starts, results: Results): string {
  const { empty, filled } = results[32];
  return goalTable([
    ...CONNECTIONS.map((connections) =>
      atLeast(
        `acks at ${connections} connections filled, of empty`,
        results[connections].filled.perSecond / results[connections].empty.perSecond,
        0.9,
      ),
    ),
    atMost('ready when filled, ms', starts.filled.readyMs, 300, 0),
    atMost('at rest when filled, MB', starts.filled.restMb, 120, 0),
    atMost('bytes an event, filled in bulk', filled.bytes, 600, 0),
    atMost('bytes an event, through the service', empty.bytes, 600, 0),
  ]);
}
