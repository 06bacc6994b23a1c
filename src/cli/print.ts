import { KitError } from '../base/errors.ts';
import { visible, visibleLine } from '../base/visible.ts';
import { terminal } from './terminal.ts';

/** Makes foreign text safe to print within a line. */
export { visibleLine as line } from '../base/visible.ts';

/** Stands at the end of a text that was cut. */
const CUT = ' ...';

/** The same, cut between two characters so that it is no longer than this when it is visible: one NUL is six characters then. */
export function beginning(text: string, longest: number): string {
  const shown = Array.from(text.slice(0, longest + 1), visibleLine);
  let length = shown.reduce((sum, one) => sum + one.length, 0);
  if (length <= longest) return shown.join('');
  while (length > longest - CUT.length) length -= shown.pop()?.length ?? length;
  return shown.join('') + CUT;
}

/** Thrown by a write to a closed stdout, as after `| head`: the command has nothing left to do, and nothing is wrong. */
export class NobodyReads extends Error {}

/** Ignores errors of stdout and stderr, so that a closed log never ends a command. A write of data throws its own errors. */
export function outliveReaders(): void {
  const { stdout, stderr } = terminal();
  for (const stream of [stdout, stderr]) stream.on('error', () => {});
}

/**
 * Writes data to stdout. Resolves once there is room for more, or if stdout is closed: the work and the exit code of a
 * command do not depend on its reader. Control characters are made visible, so that no data controls a terminal.
 */
export async function write(text: string): Promise<void> {
  await written(text);
}

/**
 * The same for a command that only prints, and prints much.
 * @throws NobodyReads if stdout is closed; main.ts then ends the command with 0
 */
export async function writeWhileRead(text: string): Promise<void> {
  if (!(await written(text))) throw new NobodyReads();
}

/** Resolves with whether stdout is still open. */
function written(text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    terminal().stdout.write(visible(text), (error) => {
      if (!error) resolve(true);
      else if ('code' in error && error.code === 'EPIPE') resolve(false);
      else
        reject(new KitError('OUTPUT_FAILED', `cannot write to stdout: ${error.message}`, { cause: error }));
    });
  });
}

/** Writes data as lines of their own. */
export function print(text: string): Promise<void> {
  return write(`${text}\n`);
}

/** Writes data for another program: one JSON value. */
export function printJson(value: unknown): Promise<void> {
  return print(JSON.stringify(value, null, 2));
}

/** Writes a line to stdout without waiting, for output that goes on while a server runs. */
export function report(text: string): void {
  terminal().stdout.write(visible(`${text}\n`));
}

/** Writes a message to stderr. */
export function say(text: string): void {
  terminal().stderr.write(visible(`${text}\n`));
}
