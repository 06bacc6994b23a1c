import { KitError } from '../../errors.ts';

/** Thrown when nobody reads stdout any more, as after `| head`: there is nothing left to do, and nothing wrong. */
export class NobodyReads extends Error {}

/**
 * Writes to stdout, and resolves when there is room for more.
 * @throws NobodyReads if the other end of the pipe is closed
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

/** Wraps a command's action, so that it ends quietly with 0 when nobody reads its output any more. */
export function whileRead<A extends readonly unknown[]>(
  action: (...args: A) => Promise<void>,
): (...args: A) => Promise<void> {
  return async (...args) => {
    process.stdout.on('error', () => {}); // told by the write itself
    try {
      await action(...args);
    } catch (error) {
      if (!(error instanceof NobodyReads)) throw error;
    }
  };
}
