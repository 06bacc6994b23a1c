import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Databases and files of a benchmark lie in BENCH_DIR: name a directory on the disk that is to be measured. */
export const BENCH_DIR = process.env.BENCH_DIR || tmpdir();

const inUse = new Set<string>();
process.on('exit', () => {
  for (const directory of inUse) rmSync(directory, { recursive: true, force: true });
});

/** Gives `work` a directory of its own, which is gone afterwards, or when this process exits. */
export async function withScratch<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(BENCH_DIR, 'hookkit-bench-'));
  inUse.add(directory);
  try {
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
    inUse.delete(directory);
  }
}
