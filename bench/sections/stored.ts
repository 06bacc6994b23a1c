import { type AckFigures, measureAcks } from '../acks.ts';
import { bytesAnEvent, filledDatabase } from '../filled.ts';
import { atLeast, atMost, goalTable, number, ratio, table } from '../markdown.ts';
import { interleaved } from '../measure.ts';
import { type Started, startService } from '../program.ts';
import { withScratch } from '../scratch.ts';
import type { Sizes } from '../sizes.ts';
import { settle, Target } from '../target.ts';
import type { Section } from './section.ts';

const CASES = ['empty', 'filled'] as const;
type Case = (typeof CASES)[number];

interface Figures extends AckFigures, Started {
  /** of database, after the acks */
  readonly bytes: number;
  readonly events: number;
}

/** Acks, start-up, memory and room on disk with very many events stored, beside a database that has none. */
export const stored: Section = { title: 'With many events stored', run };

async function run(sizes: Sizes): Promise<string> {
  const filled = filledDatabase(sizes.stored);
  await settle(filled);
  const { events } = bytesAnEvent(filled);
  const results = await interleaved(CASES, sizes.rounds, (name) =>
    withScratch((directory) => measure(name === 'filled' ? filled : `${directory}/receiver.db`, sizes)),
  );
  const head = ['database', 'acks/s', 'of empty', 'p50 ms', 'p99 ms', 'ready after ms', 'MB at rest'];
  const parts = [
    table(
      [...head, 'MB at most under load', 'bytes an event'],
      CASES.map((name) => rowOf(name, results)),
    ),
    notes(events, sizes),
    goals(results),
  ];
  return parts.join('\n\n');
}

function notes(events: number, { restMs, warmUp, requests }: Sizes): string {
  return `- \`filled\` has ${number(events)} events of a year and more with every round. Acks are at 32 connections.
- Ready: from the start of the process \`hookkit serve\` until \`/readyz\` answers 200. At rest: what that process holds
  ${number(restMs / 1000, 1)} s later (VmRSS). MB are 10^6 bytes.
- Bytes an event: the file after a checkpoint, attempts and all indexes included; \`filled\` was filled in bulk, while what
  \`empty\` has afterwards (${number(warmUp + requests[32])} events) came through the service.`;
}

/** Loads the service on a database until all is handled, and starts it twice: only the first has a schema to make. */
async function measure(database: string, sizes: Sizes): Promise<Figures> {
  await startService(database, 0);
  const started = await startService(database, sizes.restMs);
  const target = await Target.start('ours', { database });
  try {
    const acks = await measureAcks(target, 32, sizes);
    await target.stop();
    return { ...acks, ...started, ...bytesAnEvent(database) };
  } finally {
    await target.kill();
  }
}

function rowOf(name: Case, results: Readonly<Record<Case, Figures>>): string[] {
  const { perSecond, p50, p99, readyMs, restMb, peakMb, bytes } = results[name];
  return [
    name,
    number(perSecond),
    ratio(perSecond, results.empty.perSecond),
    number(p50, 2),
    number(p99, 2),
    number(readyMs),
    number(restMb),
    number(peakMb),
    number(bytes),
  ];
}

function goals({ empty, filled }: Readonly<Record<Case, Figures>>): string {
  return goalTable([
    atLeast('acks filled, of empty', filled.perSecond / empty.perSecond, 0.9),
    atMost('ready when filled, ms', filled.readyMs, 300, 0),
    atMost('at rest when filled, MB', filled.restMb, 120, 0),
    atMost('bytes an event, filled in bulk', filled.bytes, 600, 0),
    atMost('bytes an event, through the service', empty.bytes, 600, 0),
  ]);
}
