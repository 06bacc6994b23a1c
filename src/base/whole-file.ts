import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readdir, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { KitError, messageOf } from './errors.ts';
import { visible } from './visible.ts';

/**
 * A file that is there whole or not at all: written beside its place and renamed into it at the end. What a killed
 * process left beside it is removed by the next one.
 */
export class DraftFile {
  readonly #path: string;
  readonly #draft: string;
  readonly #file: FileHandle;

  private constructor(path: string, draft: string, file: FileHandle) {
    this.#path = path;
    this.#draft = draft;
    this.#file = file;
  }

  /** @throws KitError OUTPUT_FAILED if nothing can be written there */
  static async create(path: string): Promise<DraftFile> {
    try {
      await removeAbandoned(path);
      const draft = `${prefixOf(path)}${process.pid}.${randomBytes(4).toString('hex')}.draft`;
      return new DraftFile(path, draft, await open(draft, 'wx', 0o600)); // notifications are nobody else's
    } catch (cause) {
      throw failed(path, cause);
    }
  }

  /** JSON lines. Somebody will look at them on a terminal. */
  async write(text: string): Promise<void> {
    try {
      await this.#file.writeFile(visible(text));
    } catch (cause) {
      throw failed(this.#path, cause);
    }
  }

  /** Puts the file in its place, in the place of one that is there. */
  async commit(): Promise<void> {
    try {
      await this.#file.sync();
      await this.#file.close();
      await rename(this.#draft, this.#path);
    } catch (cause) {
      throw failed(this.#path, cause);
    }
  }

  /** Removes what was written so far. */
  async discard(): Promise<void> {
    await this.#file.close();
    await unlink(this.#draft);
  }
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
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // somebody else's
  }
}

function failed(path: string, cause: unknown): KitError {
  return new KitError('OUTPUT_FAILED', `cannot write ${path}: ${messageOf(cause)}`, { cause });
}
