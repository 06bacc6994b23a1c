import { existsSync, readFileSync } from 'node:fs';

/**
 * A figure of a process in MB (10^6 bytes), as Linux tells it: VmRSS is what it holds now, VmHWM the most it has held.
 * (The largest size that `process.resourceUsage` tells is that of the process it was started from, if that was larger.)
 * @returns undefined if there is no such process, or the system is another
 */
export function memoryOf(pid: number | 'self' | undefined, field: 'VmRSS' | 'VmHWM'): number | undefined {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) return undefined;
  const found = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(path, 'utf8'));
  return found ? (Number(found[1]) * 1024) / 1e6 : undefined;
}
