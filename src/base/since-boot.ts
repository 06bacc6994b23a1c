import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

/** How long a machine has been running. */
export interface SinceBoot {
  /** another name for another machine, and for another start of this one; containers of one machine have the same */
  readonly machine: string;
  /** milliseconds, those that it slept included; a change of the time of day does not change it */
  readonly ms: number;
}

/** Of the machine that this process runs on; undefined on every system but Linux, and where `/proc` has tasks only (ProcSubset=pid). */
export function sinceBoot(): SinceBoot | undefined {
  const machine = textOf('/proc/sys/kernel/random/boot_id');
  // Where something is mounted over it (lxcfs), the time is the container's own, and the id is the machine's.
  const isContainers = textOf('/proc/self/mountinfo')?.includes(' /proc/uptime ') ?? true;
  return machine === undefined || isContainers ? undefined : { machine, ms: Math.round(uptime() * 1000) };
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
