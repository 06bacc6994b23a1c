import { KitError } from '../base/errors.ts';
import { visible } from '../base/visible.ts';
import { terminal } from './terminal.ts';

/** Text of others within a line of ours. */
export { visibleLine as line } from '../base/visible.ts';

/** Thrown when nobody reads what a command is there to print, as after `| head`: nothing is left to do, and nothing wrong. */
export class NobodyReads extends Error {}

/** Logs and messages that nobody reads any more end nothing; whoever writes data is told by the write itself. */
export function outliveReaders(): void {
  const { stdout, stderr } = terminal();
  for (const stream of [stdout, stderr]) stream.on('error', () => {});
}

/**
 * Data goes to stdout. Resolves when there is room for more, or nobody reads it any more: what a command is to do, and the exit
 * code that tells how it came out, are the same whoever reads. Nothing reaches a terminal that it would obey.
 */
export async function write(text: string): Promise<void> {
  await written(text);
}

/**
 * The same for a command that does nothing but print, and has much of it.
 * @throws NobodyReads if the other end of the pipe is closed; main.ts ends the command quietly then
 */
export async function writeWhileRead(text: string): Promise<void> {
  if (!(await written(text))) throw new NobodyReads();
}

/** Whether somebody reads it. */
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

/** Data as a line, or lines, of its own. */
export function print(text: string): Promise<void> {
  return write(`${text}\n`);
}

/** Data for another program: one JSON value. */
export function printJson(value: unknown): Promise<void> {
  return print(JSON.stringify(value, null, 2));
}

/** A line of what goes on by itself to stdout, whether somebody reads it or not. */
export function report(text: string): void {
  terminal().stdout.write(visible(`${text}\n`));
}

/** What is not data goes to stderr. */
export function say(text: string): void {
  terminal().stderr.write(visible(`${text}\n`));
}
