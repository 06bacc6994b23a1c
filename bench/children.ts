import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The file of the program or of the benchmark that a path from here names. */
export function fileAt(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/**
 * Threads and child processes find JavaScript that Node has made of the TypeScript where bin/hookkit.js puts it. They read
 * no certificates of this machine, which is work at every start that is not the program's.
 */
export const CHILD_ENV = {
  ...process.env,
  NODE_COMPILE_CACHE: fileAt('../node_modules/.cache/hookkit'),
  NODE_EXTRA_CA_CERTS: undefined,
};

/** Starts a file of the benchmark in a process of its own, with its options as JSON. */
export function startChild(path: string, options: object): ChildProcess {
  return fork(fileAt(path), [JSON.stringify(options)], { env: CHILD_ENV });
}

/**
 * The next message of a child.
 * @throws Error if it ends without one
 */
export async function messageFrom<T>(child: ChildProcess): Promise<T> {
  const over = new AbortController();
  const { signal } = over;
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message as T),
      once(child, 'exit', { signal }).then(([code, killer]) => {
        throw new Error(`${child.spawnargs[1]} ended with ${code ?? killer}`);
      }),
    ]);
  } finally {
    over.abort();
  }
}

/** Runs a file of the benchmark in a process of its own to its end, and gives the one message that it sends. */
export async function runChild<T>(path: string, options: object): Promise<T> {
  const child = startChild(path, options);
  const message = await messageFrom<T>(child);
  await ended(child, 'SIGKILL');
  return message;
}

/** Ends a process, unless it has ended. */
export async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
