import { KitError } from '../errors.ts';

/** Thrown when nobody reads stdout any more, as after `| head`: there is nothing left to do, and nothing wrong. */
export class NobodyReads extends Error {}

/**
 * Data goes to stdout. Resolves when there is room for more.
 * @throws NobodyReads if the other end of the pipe is closed; main.ts ends the command quietly then
 */
export function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
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

/** What is not data goes to stderr. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Text of others as one line of a terminal: control characters could do anything to it. */
export function line(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}
