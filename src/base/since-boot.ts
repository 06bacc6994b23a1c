import { readFileSync } from 'node:fs';
import { hostname, uptime } from 'node:os';

/** How long a machine has been running. */
export interface SinceBoot {
  /** another name for another machine and, where the system tells it, for another start of this one */
  readonly machine: string;
  /** milliseconds, those that it slept included; a change of the time of day does not change it */
  readonly ms: number;
}

/** Of the machine that this process runs on, or of its container. */
export function sinceBoot(): SinceBoot {
  // Two containers of one host can have times of their own, and have names of their own then.
  return { machine: `${hostname()} ${bootId()}`.trim(), ms: Math.round(uptime() * 1000) };
}

/** Linux makes one at each start. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return ''; // another system
  }
}
