import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { KitError, messageOf } from '../base/errors.ts';
import { appFiles } from './app-files.ts';
import { isOfNpm, manifestIn, specFor, specOfKit, withKit } from './app-manifest.ts';

export interface NewAppOptions {
  /** an absolute path; the folder need not be there */
  readonly folder: string;
  /** what a path in `kit` counts from */
  readonly cwd: string;
  readonly recipe?: string | undefined;
  /** where npm finds the kit; without it, from where the running one was installed */
  readonly kit?: string | undefined;
}

/** An app that is to be written. */
export interface NewApp {
  /** the text of each file by its path in the folder */
  readonly files: ReadonlyMap<string, string>;
  /** those that are there already, and are somebody's, in the order of their paths */
  readonly inTheWay: readonly string[];
  /** what its package.json says of the kit */
  readonly spec: string;
  /** Writes all of it, over what is in the way. @throws KitError OUTPUT_FAILED if the system refuses it */
  write(): void;
}

/**
 * Composes an app of its own for a folder, and writes nothing yet.
 * @throws KitError INPUT_INVALID if there is no such recipe, if the folder's package.json is no JSON, or in a clone without `kit`
 */
export function newApp({ folder, cwd, recipe, kit }: NewAppOptions): NewApp {
  const files = appFiles(recipe);
  const manifest = JSON.parse(files.get('package.json') ?? '{}');
  const former = manifestIn(folder);
  const spec = kit === undefined ? specOfKit(folder, former) : specFor(folder, cwd, kit);
  files.set('package.json', `${JSON.stringify(withKit(manifest, former, folder, spec), null, 2)}\n`);
  const isFree = (path: string) =>
    !existsSync(join(folder, path)) || (path === 'package.json' && former !== undefined && isOfNpm(former));
  return {
    files,
    inTheWay: [...files.keys()].filter((path) => !isFree(path)).toSorted(),
    spec,
    write() {
      for (const [path, text] of files)
        write(join(folder, path), text, isFree(path) && path !== 'package.json');
    },
  };
}

function write(path: string, text: string, isNew: boolean): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    // What has come there in this moment is not overwritten either.
    writeFileSync(path, text, { flag: isNew ? 'wx' : 'w' });
  } catch (cause) {
    throw new KitError('OUTPUT_FAILED', `cannot write ${path}: ${messageOf(cause)}`, { cause });
  }
}
