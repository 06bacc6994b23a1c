import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

/** How long a machine has been running. */
export interface SinceBoot {
  /** another name for another machine, and for another start of this one; containers of one machine have the same */
  readonly machine: string;
  /** milliseconds, those that it slept included; a change of the time of day does not change it */
  readonly ms: number;
}

/** Of the machine that this process runs on; undefined where the system does not tell, as any but Linux. */
export function sinceBoot(): SinceBoot | undefined {
  const machine = textOf('/proc/sys/kernel/random/boot_id');
  // There each container has a time of its own, beside the id of the machine.
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
