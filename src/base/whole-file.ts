import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readdir, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { KitError, messageOf } from './errors.ts';
import { visible } from './visible.ts';

/** A file while it is written. */
export interface WholeFile {
  /** Appends lines of text. A user may read them on a terminal, so characters that a terminal obeys are escaped. */
  write(text: string): Promise<void>;
}

/**
 * Writes a file that appears whole or not at all: beside its place first, and renamed into it once the work has ended
 * well. If the work fails, nothing of it stays. The next process removes a file that a killed process left beside the path.
 * @throws KitError OUTPUT_FAILED if the file cannot be written
 */
export async function writeWholeFile<T>(path: string, work: (file: WholeFile) => Promise<T>): Promise<T> {
  const draft = await Draft.create(path);
  try {
    const result = await work(draft);
    await draft.commit();
    return result;
  } catch (error) {
    await draft.discard().catch(() => {}); // the first error is the one to tell
    throw error;
  }
}

class Draft implements WholeFile {
  readonly #path: string;
  readonly #draftPath: string;
  readonly #file: FileHandle;

  private constructor(path: string, draftPath: string, file: FileHandle) {
    this.#path = path;
    this.#draftPath = draftPath;
    this.#file = file;
  }

  static async create(path: string): Promise<Draft> {
    try {
      await removeAbandoned(path);
      const draftPath = `${prefixOf(path)}${process.pid}.${randomBytes(4).toString('hex')}.draft`;
      return new Draft(path, draftPath, await open(draftPath, 'wx', 0o600)); // notifications are for the owner alone
    } catch (cause) {
      throw failed(path, cause);
    }
  }

  async write(text: string): Promise<void> {
    try {
      await this.#file.writeFile(visible(text));
    } catch (cause) {
      throw failed(this.#path, cause);
    }
  }

  /** Replaces a file that is there. */
  async commit(): Promise<void> {
    try {
      await this.#file.sync();
      await this.#file.close();
      await rename(this.#draftPath, this.#path);
    } catch (cause) {
      throw failed(this.#path, cause);
    }
  }

  async discard(): Promise<void> {
    await this.#file.close();
    await unlink(this.#draftPath);
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
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // a process of another user
  }
}

function failed(path: string, cause: unknown): KitError {
  return new KitError('OUTPUT_FAILED', `cannot write ${path}: ${messageOf(cause)}`, { cause });
}
