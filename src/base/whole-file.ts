import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readlink, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { systemClock } from './clock.ts';
import { KitError, messageOf } from './errors.ts';
import { pause } from './pause.ts';
import { visible } from './visible.ts';

/** A file while it is written. */
export interface WholeFile {
  /** Appends lines of text. A user may read them on a terminal, so characters that a terminal obeys are escaped. */
  write(text: string): Promise<void>;
}

/** The lines of JSON objects that a file is to have. */
export interface Lines {
  /** what the file is, as in `a report` */
  readonly what: string;
  /** a member that each line has, and no line of the other files that are written here */
  readonly member: string;
}

/**
 * Writes a file that appears whole or not at all: beside its place first, and renamed into it once the work has ended
 * well. If the work fails, nothing of it stays. The next process removes a file that a killed process left beside the path.
 * A symbolic link stays, and its target is replaced. A device or a pipe is written into as the work goes on.
 * @param signal ends the wait for somebody who reads the pipe
 * @throws KitError OUTPUT_FAILED if the file cannot be written, or would replace one that is neither empty nor has lines of this kind
 */
export async function writeWholeFile<T>(
  path: string,
  lines: Lines,
  work: (file: WholeFile) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const draft = await begin(path, lines, signal);
  try {
    const result = await work(draft);
    await draft.commit();
    return result;
  } catch (error) {
    await draft.discard().catch(() => {}); // the first error is the one to tell
    throw error;
  }
}

async function begin(path: string, lines: Lines, signal?: AbortSignal): Promise<Straight> {
  try {
    const found = await statOf(path);
    // Renaming would replace what other programs read from: a pipe, or /dev/null for everybody.
    if (found?.isFIFO()) return new Straight(path, await openForReader(path, signal));
    if (found?.isFile() === false) return new Straight(path, await open(path, constants.O_WRONLY));
    const target = await targetOf(path);
    if (found && !(await mayBeReplaced(target, lines))) throw new Error(notOurs(lines));
    await removeAbandoned(target);
    const draftPath = `${prefixOf(target)}${process.pid}.${randomBytes(4).toString('hex')}.draft`;
    const file = await open(draftPath, 'wx', 0o600); // notifications are for the owner alone
    return new Draft(path, file, { draftPath, target });
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    throw failed(path, cause);
  }
}

const LOOK_EVERY_MS = 50;

/** Opens a pipe once somebody reads it. An open that waits for that by itself cannot be ended. */
async function openForReader(path: string, signal: AbortSignal | undefined): Promise<FileHandle> {
  for (;;) {
    signal?.throwIfAborted();
    const first = await open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch((error) => {
      if (error.code !== 'ENXIO') throw error; // nobody has it open
    });
    // One that waits where the pipe is full. The first stays open until then, or the reader would see an end.
    if (first) return open(path, constants.O_WRONLY).finally(() => first.close());
    await pause(systemClock, LOOK_EVERY_MS, signal);
  }
}

const notOurs = ({ what }: Lines) =>
  `there is a file that is not ${what}, and perhaps the only one of its kind: remove it first, or name another one`;

/** Longer than what comes before the member in any line. */
const BEGINNING = 65_536;

/** Whether a file is empty, or has lines of this kind. A slip must not replace what cannot be made again. */
async function mayBeReplaced(path: string, { member }: Lines): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(BEGINNING), 0, BEGINNING, 0);
    const [line = ''] = buffer.toString('utf8', 0, bytesRead).split('\n', 1);
    return bytesRead === 0 || (line.startsWith('{') && membersOf(line).includes(member));
  } finally {
    await file.close();
  }
}

/** The names of the members of a JSON object, as far as its text goes; not those of objects in it. */
function membersOf(text: string): string[] {
  const names: string[] = [];
  let depth = 0;
  for (const [, word, mark] of text.matchAll(/("(?:[^"\\]|\\.)*"\s*:?)|([{}[\]])/g)) {
    if (mark !== undefined) depth += mark === '{' || mark === '[' ? 1 : -1;
    else if (depth === 1 && word?.endsWith(':')) names.push(word.slice(1, word.lastIndexOf('"')));
  }
  return names;
}

/** What is written straight into its place: a device or a pipe. */
class Straight implements WholeFile {
  readonly #path: string;
  protected readonly file: FileHandle;

  constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.file = file;
  }

  async write(text: string): Promise<void> {
    try {
      await this.file.writeFile(visible(text));
    } catch (cause) {
      throw failed(this.#path, cause);
    }
  }

  async commit(): Promise<void> {
    try {
      await this.finish();
    } catch (cause) {
      throw failed(this.#path, cause);
    }
  }

  protected async finish(): Promise<void> {
    await this.file.close();
  }

  async discard(): Promise<void> {
    await this.file.close();
  }
}

/** A file beside the one that it is to be. */
class Draft extends Straight {
  readonly #places: { readonly draftPath: string; readonly target: string };

  constructor(path: string, file: FileHandle, places: { draftPath: string; target: string }) {
    super(path, file);
    this.#places = places;
  }

  /** Replaces a file that is there. */
  protected override async finish(): Promise<void> {
    await this.file.sync();
    await super.finish();
    await rename(this.#places.draftPath, this.#places.target);
  }

  override async discard(): Promise<void> {
    await super.discard();
    await unlink(this.#places.draftPath);
  }
}

/** What a path leads to; undefined if that is not there. */
function statOf(path: string) {
  return stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
}

/** The file that symbolic links lead to, even one that is not there yet. */
async function targetOf(path: string): Promise<string> {
  const place = join(await realpath(dirname(path)), basename(path));
  const link = await readlink(place).catch(() => undefined); // an error: no link
  return link === undefined ? place : targetOf(resolve(dirname(place), link));
}

function prefixOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.`);
}

async function removeAbandoned(path: string): Promise<void> {
  const start = basename(prefixOf(path));
  for (const name of await readdir(dirname(path))) {
    const [, pid] = name.startsWith(start)
      ? (/^(\d+)\.[0-9a-f]{8}\.draft$/.exec(name.slice(start.length)) ?? [])
      : [];
    if (pid !== undefined && !isAlive(Number(pid))) await unlink(join(dirname(path), name));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // a process of another user
  }
}

function failed(path: string, cause: unknown): KitError {
  return new KitError('OUTPUT_FAILED', `cannot write ${path}: ${messageOf(cause)}`, { cause });
}
