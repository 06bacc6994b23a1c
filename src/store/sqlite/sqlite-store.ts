import { realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import { KitError, messageOf } from '../../base/errors.ts';
import { makeWithParents } from '../../base/make-with-parents.ts';
import { moduleUrl } from '../../base/program.ts';
import { DriverStore, type DriverStoreParts, openStoreVault, type Reads } from '../driver-store.ts';
import type { Scrubbed, StoreRuns } from '../event-store.ts';
import { backupsOf } from '../former/move.ts';
import { keyFile, keyPathOf } from '../key-file.ts';
import type { Operations, StoreLink } from '../link.ts';
import { LocalLink } from '../threads/local-link.ts';
import { LazyLink } from '../threads/store-link.ts';
import { ThreadLink } from '../threads/thread-link.ts';
import { unopened } from '../unopened.ts';
import { givenKey } from '../vault.ts';
import type { Mode } from './connection.ts';
import { ReadGate } from './read-gate.ts';
import type { Writes } from './writes.ts';

export interface SqliteOptions {
  readonly path: string;
  readonly clock: Clock;
  /** gives the time after a commit; without it, the log is asked when it was written, which is by the clock of its file system */
  readonly timeOfCommit?: (() => number) | undefined;
  /** 32 bytes; without one, the store uses a key file beside the database, and makes one if there is none */
  readonly secretsKey?: Buffer | undefined;
  /** false: the store works on the calling thread, which waits; commands start faster and smaller with it */
  readonly threads?: boolean | undefined;
  /** told how many milliseconds each commit took */
  readonly onCommit?: ((ms: number) => void) | undefined;
}

/** A database of this size is rewritten before the writes that wait for it time out. */
const QUICKLY_REWRITTEN = 256 * 1024 * 1024;
/** How often scrub tries to empty the log, and the pause between: ten seconds together with the tries themselves. */
const SCRUB_TRIES = 13;
const SCRUB_PAUSE_MS = 250;

interface SqliteParts extends Omit<DriverStoreParts, 'write'> {
  readonly runs: StoreRuns;
  readonly write: StoreLink<Writes>;
  readonly path: string;
}

/** The EventStore on a SQLite file, with one thread that writes and one for queries. */
export class SqliteStore extends DriverStore {
  readonly runs: StoreRuns;
  readonly #write: StoreLink<Writes>;
  readonly #path: string;
  readonly #clock: Clock;

  private constructor({ write, path, runs, ...parts }: SqliteParts) {
    super({ ...parts, write });
    this.runs = runs;
    this.#write = write;
    this.#path = path;
    this.#clock = parts.clock;
  }

  /** @throws KitError STORE_UNUSABLE if the database cannot be opened, is newer, or was sealed with another key */
  static async open({
    path: given,
    clock,
    timeOfCommit,
    secretsKey,
    threads = true,
    onCommit,
  }: SqliteOptions): Promise<SqliteStore> {
    const path = resolve(given); // a handler may change the directory of the process
    makeDirectory(dirname(path));
    const openLink = async <O extends Operations>(mode: Mode): Promise<StoreLink<O>> => {
      const onBatch = mode === 'write' ? onCommit : undefined;
      try {
        return await (threads ? onThread<O>(path, mode, onBatch) : here<O>(path, mode, onBatch));
      } catch (error) {
        throw unopened(path, messageOf(error));
      }
    };
    const write = await afterOthers(() => openLink<Writes>('write'));
    try {
      const log = `${realpathSync(path)}-wal`;
      const read = new ReadGate<Reads>(new LazyLink<Reads>(() => openLink<Reads>('read')), {
        path: log,
        reset: () => write.request('resetLog', undefined),
      });
      const vault = await openStoreVault(write, secretsKey ? givenKey(secretsKey) : keyFile(keyPathOf(path)));
      const ofLog = () => statSync(log).mtimeMs;
      const times = { clock, timeOfCommit: timeOfCommit ?? ofLog };
      const runs = threads ? 'on a thread' : 'here';
      return new SqliteStore({ write, read, vault: async () => vault, path, runs, ...times });
    } catch (error) {
      await write.close();
      throw error;
    }
  }

  override async retireSecret(webhookId: string, secret: string, retireAt: number) {
    const isRetired = await super.retireSecret(webhookId, secret, retireAt);
    // If the log cannot be emptied now, later writes soon overwrite it.
    if (isRetired) await this.#write.request('emptyLog', undefined).catch(() => false);
    return isRetired;
  }

  async scrub(mostBytes = QUICKLY_REWRITTEN): Promise<Scrubbed> {
    const bytes = await this.#write.request('unzeroedBytes', undefined);
    if (bytes > 0 && bytes <= mostBytes) await this.#write.request('rewrite', undefined);
    const toRewrite = await this.#write.request('unzeroedBytes', undefined);
    const backups = backupsOf(this.#path);
    for (let tries = SCRUB_TRIES; tries > 0; tries--) {
      if (await this.#write.request('emptyLog', undefined)) return { toRewrite, isLogInUse: false, backups };
      await new Promise<void>((resolve) => this.#clock.after(SCRUB_PAUSE_MS, resolve)); // acks come through
    }
    return { toRewrite, isLogInUse: true, backups };
  }

  /** The actual durability of the writing connection. */
  settings() {
    return this.#write.request('settings', undefined);
  }
}

type OnBatch = ((ms: number) => void) | undefined;

function onThread<O extends Operations>(path: string, mode: Mode, onBatch: OnBatch): Promise<StoreLink<O>> {
  const file = moduleUrl(new URL('./store-thread.ts', import.meta.url));
  return ThreadLink.over<O>(new Worker(file, { workerData: { path, mode } }), onBatch);
}

/** Commands read events once, so a large cache would only use memory. */
const CACHE_KIB = 2048;

async function here<O extends Operations>(path: string, mode: Mode, onBatch: OnBatch): Promise<StoreLink<O>> {
  const { openConnection } = await import('./connection.ts'); // a server's main thread needs no SQLite of its own
  return new LocalLink<O>(await openConnection(path, mode, CACHE_KIB), onBatch);
}

/** Settled once no store of this process is being opened. */
let openings: Promise<unknown> = Promise.resolve();

/**
 * Stores of one process are opened one after another. While one moves a former database, another that waits for it has that
 * file open by the name which the new file gets, and SQLite finds a log by name: it would take that of the new file for its
 * own. Between processes SQLite's locks keep that harmless; within one they do not hold, and a thread that works with the
 * new file would find the index of its log cut off.
 */
function afterOthers<T>(open: () => Promise<T>): Promise<T> {
  const opened = openings.then(open);
  openings = opened.catch(() => {});
  return opened;
}

export function makeDirectory(path: string): void {
  try {
    makeWithParents(path, 0o700);
  } catch (cause) {
    throw new KitError('STORE_UNUSABLE', `cannot make the directory ${path}: ${messageOf(cause)}`, { cause });
  }
}
