import { cpus, loadavg, totalmem } from 'node:os';

/** The machine that figures were taken on, in words. */
export function machine(): string {
  const cores = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cores.length} × ${cores[0]?.model.trim()}, ${memory} GiB, Node ${process.versions.node}`;
}

/** How busy the machine is with whatever else: its load average over the last minute. */
export function busyness(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}
