import { runChild } from './children.ts';
import type { LoadOptions, LoadResult } from './load.ts';
import type { Connections, Sizes } from './sizes.ts';
import type { Target } from './target.ts';

/** What a target does with one load. Times are milliseconds, memory is MB (10^6 bytes). */
export interface AckFigures {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  /** the load generator's share of a core */
  readonly load: number;
  /** microseconds of processor time that the server spent a request, whatever it did meanwhile included */
  readonly cpuMicros: number;
  /** KB (10^3 bytes) that the server had written to files for a request, whatever it did meanwhile included */
  readonly writtenKb: number;
  /** the largest that the server has been */
  readonly peakMb: number;
  /** how many queries it ran beside, a second */
  readonly queries: number;
}

let series = 0;

/** Warms a target up and sends it requests for as long as the sizes say. */
export async function measureAcks(
  target: Target,
  connections: Connections,
  { warmUpSeconds, ackSeconds }: Sizes,
): Promise<AckFigures> {
  const { port, recordsNothing: mayRepeat } = target;
  await load({ port, mayRepeat, connections: 32, seconds: warmUpSeconds });
  const before = await target.usage();
  const { requests, perSecond, p50, p99, p999, cpu } = await load({
    port,
    mayRepeat,
    connections,
    seconds: ackSeconds,
  });
  const after = await target.usage();
  return {
    perSecond,
    p50,
    p99,
    p999,
    load: cpu,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / requests,
    writtenKb: (after.writtenBytes - before.writtenBytes) / 1000 / requests,
    peakMb: after.peakMb,
    queries: ((after.queries - before.queries) * perSecond) / requests,
  };
}

/** Sends a target notifications that nobody has sent before. @throws Error unless all are accepted */
export async function load(options: Omit<LoadOptions, 'series'>): Promise<LoadResult> {
  // Distinct from those of every earlier run too, as a database may have been kept.
  const named: LoadOptions = { ...options, series: `${Date.now().toString(36)}-${series++}` };
  const result = await runChild<LoadResult>('./load.ts', named);
  if (result.refused > 0) throw new Error(`${result.refused} of ${result.requests} were not accepted`);
  return result;
}
