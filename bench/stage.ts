import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Processes that are measured, and their files. Whatever is left of them when the benchmark ends goes with it.

/** BENCH_DIR: name a directory on the disk that is to be measured. */
export const directory = mkdtempSync(join(process.env.BENCH_DIR || tmpdir(), 'hookkit-bench-'));
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

/** Gives `work` a directory of its own, which is gone afterwards. */
export async function withScratch<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const own = mkdtempSync(join(directory, 'case-'));
  try {
    return await work(own);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

export function fileAt(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/** Has a process end with the benchmark. */
export function watched(child: ChildProcess): ChildProcess {
  running.add(child);
  return child.once('exit', () => running.delete(child));
}

/** Runs a file of the benchmark in a process of its own, and gives its first message to `use`. */
export async function withChild<M, T>(
  path: string,
  options: object,
  use: (message: M) => Promise<T>,
): Promise<T> {
  const child = watched(fork(fileAt(path), [JSON.stringify(options)]));
  try {
    const message = await new Promise<M>((resolve, reject) => {
      child.once('message', (sent) => resolve(sent as M));
      child.once('exit', (code) => reject(new Error(`${path} ended with ${code}`)));
    });
    return await use(message);
  } finally {
    await ended(child, 'SIGKILL');
  }
}

/** Ends a process, unless it has ended. */
export async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
