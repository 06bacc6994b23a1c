import { AsyncResource } from 'node:async_hooks';
import { nextTick } from 'node:process';
import type { MonotonicClock } from '../base/clock.ts';
import { isUnavailable, KitError } from '../base/errors.ts';
import type { Finding } from '../base/finding.ts';
import { type Db, type Dialect, sqlite } from './dialect.ts';
import type { Of } from './stored.ts';

/** Does an operation, by its name, in one transaction, and resolves once that is committed. @throws KitError STORE_UNAVAILABLE if it was not */
type Transact = (name: string, input: object) => Promise<unknown>;

/** The engine adds the time. Unless a subscriber is named, the handlers without a name are meant. */
type Given<I> = Omit<NonNullable<I>, 'now' | 'subscriber'> & (I extends Of ? Partial<Of> : unknown);
type Input<G> = Partial<G> extends G ? [input?: G] : [input: G];

/** Operations as methods, without what the engine gives them. */
export type Calls<O> = {
  readonly [Name in keyof O]: O[Name] extends (db: never, input: infer I) => infer Output
    ? (...input: Input<Given<I>>) => Promise<Awaited<Output>>
    : never;
};

/** The operations of a subject as methods. Only their names cross to the engine, which has made the same for its own dialect. */
export function callsOf<O extends object>(operations: (d: Dialect) => O, transact: Transact): Calls<O> {
  const names = Object.keys(operations(sqlite));
  return Object.fromEntries(
    names.map((name) => [name, (input = {}) => transact(name, { subscriber: '', ...input })]),
  ) as Calls<O>;
}

/** How many rows one statement takes: of more, PostgreSQL's planner would go another way. */
export const MOST_ROWS = 128;

/**
 * Inputs that come while work is under way go into the next work together; where that fails because of one of them, each goes alone.
 * @param work resolves with an output for each input
 * @param turn resolves once the inputs that go together have come: by default those of this turn of the event loop
 * @returns a function that has an input worked on
 */
export function gathered<I, O>(
  work: (inputs: readonly I[]) => Promise<readonly O[]>,
  turn = () => new Promise<void>((resolve) => nextTick(resolve)),
): (input: I) => Promise<O> {
  const waiting: { readonly input: I; readonly done: PromiseWithResolvers<O> }[] = [];
  let isWorking = false;

  const workOn = async (batch: typeof waiting): Promise<void> => {
    try {
      const outputs = await work(batch.map(({ input }) => input));
      for (const [index, { done }] of batch.entries()) done.resolve(outputs[index] as O);
    } catch (error) {
      if (batch.length > 1 && !isUnavailable(error)) {
        for (const one of batch) await workOn([one]); // all but the one at fault are done
        return;
      }
      // The database fails, and not an input: each alone would wait for it as long.
      const behind = isUnavailable(error) ? waiting.splice(0) : [];
      for (const { done } of [...batch, ...behind]) done.reject(error);
    }
  };

  // A commit serves many requests: a trace of the first one would go on with those of all others.
  const start = AsyncResource.bind(async (): Promise<void> => {
    isWorking = true;
    while (waiting.length > 0) {
      await turn();
      await workOn(waiting.splice(0, MOST_ROWS));
    }
    isWorking = false;
  });

  return (input) => {
    const done = Promise.withResolvers<O>();
    waiting.push({ input, done });
    if (!isWorking) start();
    return done.promise;
  };
}

/** The key of the secrets where it comes from outside, or the path of the file that has it. */
export type KeySource = Buffer | string;

/** A database, and the way to it. */
export interface Engine {
  readonly keySource: KeySource;
  readonly write: Transact;
  /** reads, beside the writes */
  readonly read: Transact;
  /** How busy what writes is, 0 to 1: of a thread since this was asked last, of the connections of a pool now. */
  busy(): number;
  /** How large it is. @throws KitError STORE_UNAVAILABLE */
  size(): Promise<DatabaseSize>;
  /** Rebuilds the file, so that nothing is left in it of what was deleted. */
  compact(): Promise<void>;
  /** It may be closed more than once. */
  close(): Promise<void>;
}

/** How large a database is, what is wrong around it, and how much room its disk has; a database server does not tell the latter. */
export interface DatabaseSize {
  readonly bytes: number;
  readonly free?: number;
  /** whether that is enough: `scarce` where the next backlog may fill the disk, `none` where it is as good as full */
  readonly room?: 'enough' | 'scarce' | 'none';
  readonly flaw?: Flaw | undefined;
}

/** A problem around a database that still works, and what to do. */
export interface Flaw {
  readonly fault: 'key_gone' | 'open_transaction';
  readonly text: string;
  readonly advice: string;
}

export interface StoreOptions {
  /** `sqlite:PATH`, or `postgres://USER@HOST:PORT/DATABASE`; `sqlite::memory:` for tests of handlers */
  readonly DATABASE_URL: string;
  readonly clock: MonotonicClock;
  /** 32 bytes */
  readonly SECRETS_KEY?: Buffer | undefined;
  /** of PostgreSQL: how many connections at most; ten without it */
  readonly DATABASE_POOL?: number | undefined;
  /**
   * `current` refuses to bring a database to a further version, after which receivers of the one before could not start again; `there` also
   * refuses to make one: the file of SQLite, the tables of PostgreSQL
   */
  readonly mustBe?: 'current' | 'there' | undefined;
  /** reads only, and refuses a database that is not up to date */
  readonly readOnly?: boolean | undefined;
  /** opens without a look at the key: what needs a missing or wrong one is unavailable then */
  readonly withoutKey?: boolean | undefined;
  /** of SQLite: false, for commands, works on the calling thread and has none of its own */
  readonly threads?: boolean | undefined;
  /** told how many milliseconds each write of acks took */
  readonly onCommit?: ((ms: number) => void) | undefined;
}

/** The error of a database that cannot be opened or moved, which says what to do. */
export const unusable = (message: string, cause?: unknown) =>
  new KitError('STORE_UNUSABLE', message, { cause });

/** The error of a call that fails because of the database, and not of its input. */
export const unavailable = (why: string, cause?: unknown) =>
  new KitError('STORE_UNAVAILABLE', `the store cannot do this now: ${why}`, { cause });

/** The settings of the store. */
export type StoreSettings = Omit<StoreOptions, 'clock'>;

/** Returns whether the store can be opened without changing anything. */
export type Checks = AsyncGenerator<Finding, boolean, undefined>;

/** A database that is read and written table by table, while no other program uses it. */
export interface Raw extends AsyncDisposable {
  readonly isPostgres: boolean;
  transact<T>(work: (db: Db) => T | Promise<T>): Promise<T>;
  /** The version of the schema, and setting it: programs refuse a database of another version than theirs. */
  version(): Promise<number>;
  setVersion(version: number): Promise<void>;
}

/** Something that may be wrong, and what to do about it then. */
type Rule = readonly [applies: boolean, result: 'FAIL' | 'warn', advice: string];

/** What a check of the doctor finds: the first rule that applies decides, and without one all is well. */
export function judged(check: string, seen: string, rules: readonly Rule[]): Finding {
  const [, result, advice] = rules.find(([applies]) => applies) ?? [];
  return result ? { check, result, detail: `${seen}: ${advice}` } : { check, result: 'ok', detail: seen };
}
