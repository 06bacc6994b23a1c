import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new empty directory outside of the project; whoever asks for it removes it. */
export function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'webhook-receiver-kit-'));
}
