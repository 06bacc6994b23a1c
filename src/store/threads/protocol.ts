/** An operation of a connection. */
export interface Bound {
  readonly one: (input: never) => unknown;
  /** The same for several inputs at once, if that takes less time than one after the other. */
  readonly many?: ((inputs: readonly never[]) => Promise<readonly unknown[]>) | undefined;
}

/** The operations of a connection by their names. */
export type BoundOperations = Readonly<Record<string, Bound>>;

/** Does batches, one at a time. */
export interface Connection {
  run(batch: Batch): Promise<Replies>;
  close(): void;
}

/** Makes operations, each of one member of a record. */
export function boundBy<T>(
  members: Readonly<Record<string, T>>,
  bind: (member: T) => Bound,
): BoundOperations {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, bind(member)]));
}

/** A message to a store thread: requests that share one commit. */
export type Batch = readonly { readonly name: string; readonly input: unknown }[];

/** The replies to a batch: for each request its output, or why it failed. */
export type Replies = readonly (
  | { readonly output: unknown }
  | { readonly error: { readonly message: string; readonly code: string | undefined } }
)[];

/** The first message of a thread: whether its database could be opened. */
export type Opened = { readonly opened: true } | { readonly opened: false; readonly message: string };

/**
 * To a store thread: requests; `close`; or `singly`, when the replies could not be read together: it posts each of them
 * again, alone.
 */
export type ToThread = Batch | 'close' | 'singly';

/** From a store thread: the replies to a batch; or `unreadable`, when it could not read the batch, and has done nothing of it. */
export type FromThread = Replies | 'unreadable';

const TAG = 'hookkit';

/**
 * A message between a store thread and its parent. It carries a tag, because others post between them too: under
 * `node --watch`, Node reports from within the thread which modules the thread loads.
 */
export function tagged<T>(content: T): { readonly [TAG]: T } {
  return { [TAG]: content };
}

/** The content of a tagged message; undefined for messages of others. */
export function contentOf<T>(message: unknown): T | undefined {
  if (typeof message !== 'object' || message === null || !Object.hasOwn(message, TAG)) return undefined;
  return (message as { readonly [TAG]: T })[TAG];
}

/** Requests that a sender of a webhook waits for. */
export const urgent: ReadonlySet<string> = new Set(['record']);

/** Requests that share no commit and no batch: SQLite allows them only outside of transactions. */
export const alone: ReadonlySet<string> = new Set(['resetLog', 'emptyLog', 'rewrite']);
