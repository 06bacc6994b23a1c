import { closeSync, fsyncSync, openSync, statSync } from 'node:fs';

/** Waits until a file, or the names in a directory, are on disk: only then a loss of power leaves them. */
export function syncFile(path: string): void {
  if (process.platform === 'win32' && statSync(path).isDirectory()) return; // Windows cannot open directories
  const opened = openSync(path, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
