import { KitError } from '../errors.ts';
import { visible } from '../visible.ts';

/** Text of others within a line of ours. */
export { visibleLine as line } from '../visible.ts';

/** Thrown when nobody reads stdout any more, as after `| head`: there is nothing left to do, and nothing wrong. */
export class NobodyReads extends Error {}

/** Logs and messages that nobody reads any more end nothing; whoever writes data is told by the write itself. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

/**
 * Data goes to stdout. Resolves when there is room for more. Nothing reaches a terminal that it would obey.
 * @throws NobodyReads if the other end of the pipe is closed; main.ts ends the command quietly then
 */
export function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(visible(text), (error) => {
      if (!error) resolve();
      else if ('code' in error && error.code === 'EPIPE') reject(new NobodyReads());
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
  process.stdout.write(visible(`${text}\n`));
}

/** What is not data goes to stderr. */
export function say(text: string): void {
  process.stderr.write(visible(`${text}\n`));
}
