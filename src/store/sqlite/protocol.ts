import type { Database } from 'better-sqlite3';

/** Operations by name: each is made once for a connection and then called with one argument. */
export type Operations = Readonly<Record<string, (db: Database) => (input: never) => unknown>>;

export type InputOf<O extends Operations, N extends keyof O> = Parameters<ReturnType<O[N]>>[0];
export type OutputOf<O extends Operations, N extends keyof O> = ReturnType<ReturnType<O[N]>>;

/** What is posted to a store thread: calls that are to share one commit. */
export type Batch = readonly { readonly name: string; readonly input: unknown }[];

/** What comes back: for each call its output, or why it failed. */
export type Answers = readonly (
  | { readonly output: unknown }
  | { readonly error: { readonly message: string; readonly code: string | undefined } }
)[];

/** The first message of a thread: whether its database could be opened. */
export type Opened = { readonly opened: true } | { readonly opened: false; readonly message: string };

const TAG = 'hookkit';

/**
 * A message between a store thread and its parent. It carries a tag, as others post on the same way: under `node --watch`
 * Node tells the parent, from within the thread, which modules the thread loads.
 */
export function tagged<T>(content: T): { readonly [TAG]: T } {
  return { [TAG]: content };
}

/** What a message of ours says; undefined for what anybody else has posted. */
export function contentOf<T>(message: unknown): T | undefined {
  if (typeof message !== 'object' || message === null || !Object.hasOwn(message, TAG)) return undefined;
  return (message as { readonly [TAG]: T })[TAG];
}
