import { execFileSync } from 'node:child_process';

/** What a process holds in memory, in MiB. */
export function rssOf(pid: number | undefined): number {
  return Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024);
}
