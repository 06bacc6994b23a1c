import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { KitError, messageOf } from '../base/errors.ts';
import { isPackage, KIT, kitFolder, kitVersion } from '../base/program.ts';

const table = z.record(z.string(), z.string()).optional();
const schema = z.looseObject({
  scripts: table,
  dependencies: table,
  devDependencies: table,
  engines: table,
  allowScripts: z.record(z.string(), z.unknown()).optional(),
});
export type Manifest = z.infer<typeof schema>;

/** The package.json of a folder, if it has one. @throws KitError INPUT_INVALID if it is not one: it would be lost */
export function manifestIn(folder: string): Manifest | undefined {
  const path = join(folder, 'package.json');
  if (!lstatSync(path, { throwIfNoEntry: false })) return undefined;
  try {
    const read = JSON.parse(readFileSync(path, 'utf8'));
    schema.parse(read);
    return read; // with its members in their order
  } catch (cause) {
    throw new KitError('INPUT_INVALID', `cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
}

/** What `npm init` writes as the script test. */
const NO_TEST = /no test specified/;
/** Scripts that need nothing but the kit. */
const OF_KIT = ['dev', 'start', 'test'];
const isOldNode = Number(process.versions.node.split('.')[0]) < 24;

interface Completion {
  /** package.json of a new app */
  readonly own: Manifest;
  /** the package.json that exists */
  readonly former: Manifest | undefined;
  /** has code of its own: gets scripts and the kit, and nothing else */
  readonly isRepository: boolean;
  readonly spec: string;
}

/** The existing package.json, completed; which of its scripts are the kit's; what is left to do by hand. */
export function completed({ own, former = {}, isRepository, spec }: Completion) {
  const offered = Object.entries(own.scripts ?? {}).filter(
    ([name]) => !isRepository || OF_KIT.includes(name),
  );
  const isKept = ([name, command]: readonly [string, string]) => {
    const there = former.scripts?.[name];
    return there !== undefined && there !== command && !NO_TEST.test(there);
  };
  const added = offered.filter((script) => !isKept(script));
  const byHand = offered
    .filter(isKept)
    .map(([name, command]) => `package.json keeps its script ${name}; the kit's is: ${command}`);
  const scripts = added.map(([name]) => name);
  const { [KIT]: _, ...formerDev } = former.devDependencies ?? {};
  const both: Manifest = {
    ...former,
    scripts: { ...former.scripts, ...Object.fromEntries(added) },
    dependencies: { ...former.dependencies, [KIT]: spec },
    ...(former.devDependencies && { devDependencies: formerDev }),
  };
  if (isRepository) {
    if (isOldNode) byHand.push('The kit needs Node.js 24: install it, or run npm install --save-dev node@24');
    return { manifest: both, scripts, byHand };
  }
  const { node, ...devDependencies } = own.devDependencies ?? {};
  const manifest: Manifest = {
    ...former, // first, for the order of its members
    ...own,
    ...both,
    type: 'module', // npm init writes commonjs, but nothing here depends on it
    engines: { ...own.engines, ...former.engines },
    devDependencies: { ...devDependencies, ...(isOldNode && node && { node }), ...formerDev },
    allowScripts: { ...own.allowScripts, ...(isOldNode && { node: true }), ...former.allowScripts },
  };
  return { manifest, scripts, byHand };
}

interface Search {
  readonly folder: string;
  readonly cwd: string;
  readonly kit: string | undefined;
  readonly former: Manifest | undefined;
  readonly isRepository: boolean;
}

/**
 * Where npm finds the kit: where `kit` says, else where the running one was installed from. A packed kit belongs into the
 * app's folder, as every machine and image that installs the app needs it.
 * @returns packed: its path, if it is a file
 * @throws KitError INPUT_INVALID if it is a folder, or in a clone, which was not installed
 */
export function findKit({ folder, cwd, kit, former, isRepository }: Search): {
  spec: string;
  packed?: string;
} {
  if (kit !== undefined) return located(kit, cwd);
  const own = kitOf(former);
  if (own !== undefined) return isRepository ? { spec: own } : located(own, folder);
  if (!isPackage) throw new KitError('INPUT_INVALID', OF_CLONE);
  // The second is that of npx, where no folder has the kit. With pnpm, the running kit lies elsewhere.
  for (const place of [cwd, resolve(fileURLToPath(kitFolder), '../..')]) {
    const installed = kitOf(manifestIn(place));
    if (installed !== undefined) return located(installed, place);
  }
  return { spec: `^${kitVersion}` };
}

function kitOf(manifest: Manifest | undefined): string | undefined {
  return manifest?.dependencies?.[KIT] ?? manifest?.devDependencies?.[KIT];
}

function located(spec: string, from: string): { spec: string; packed?: string } {
  const path = resolve(from, spec.replace(/^(file|link):/, ''));
  if (!/^(file:|link:|[./])/.test(spec) && !existsSync(path)) return { spec };
  if (statSync(path, { throwIfNoEntry: false })?.isFile())
    return { spec: `file:${basename(path)}`, packed: path };
  throw new KitError(
    'INPUT_INVALID',
    `${path} is no packed kit, and an image cannot install from a folder: run npm pack in the clone, and give the path of its file in --kit`,
  );
}

const OF_CLONE = `this is a clone of the kit: handlers are in its src/handlers/. For a repository of your own, pack the kit here:
  npm pack
Then, in a new folder, with the path of the file that npm pack has named:
  npm install PATH
  npx hookkit init`;
