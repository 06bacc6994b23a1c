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
