import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./hostile-handlers.ts', import.meta.url));

/** Runs hostile-handlers.ts in a process of its own. */
export async function runHostile(runs: number, seed: number) {
  const child = spawn(process.execPath, [script, String(runs), String(seed)]);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ]);
  return { seed, stdout, stderr, code };
}
