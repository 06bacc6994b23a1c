import { readFileSync } from 'node:fs';
import { memoryOf } from '../memory.ts';

/** What a server has used up since it started. */
export interface Usage {
  /** microseconds of processor time, of all its threads */
  readonly cpuMicros: number;
  /** the largest that it has been, in MB (10^6 bytes) */
  readonly peakMb: number;
  /** bytes that it had written to files; NaN where the system does not tell */
  readonly writtenBytes: number;
  /** queries that it ran beside its work */
  readonly queries: number;
}

interface Server {
  readonly port: number;
  readonly queries?: () => number;
  /** resolves once nothing is pending */
  readonly handled?: () => Promise<void>;
  readonly stop?: () => Promise<void>;
}

/** What this process has used up. */
export function usageOf(queries = 0): Usage {
  const { user, system } = process.cpuUsage();
  const peakMb = memoryOf('self', 'VmHWM') ?? Number.NaN;
  return { cpuMicros: user + system, peakMb, writtenBytes: writtenBytes(), queries };
}

/** proc_pid_io(5): pages that became dirty count, whenever they reach the disk. */
function writtenBytes(): number {
  try {
    return Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
  } catch {
    return Number.NaN;
  }
}

/** Tells the benchmark where this process listens, and from then on what it asks for. Ends with the benchmark. */
export function serveBenchmark({ port, queries, handled, stop }: Server): void {
  process.on('disconnect', () => process.exit());
  process.on('message', async (message) => {
    if (message === 'handled') await handled?.();
    if (message === 'stop') await stop?.();
    process.send?.(message === 'usage' ? usageOf(queries?.()) : 'done');
  });
  process.send?.({ port });
}
