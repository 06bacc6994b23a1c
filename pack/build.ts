import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SRC = join(ROOT, 'src');
export const DIST = join(ROOT, 'dist');

/** Below src/: of a clone's owner, and not for the package. */
const NOT_PACKED = /^handlers\//;

/**
 * Makes dist/, which mirrors src/: the JavaScript of each module with its source map, types for what is exported, and
 * every other file as it is. It begins with an empty folder.
 * @param doors the modules that the package exports, such as mock/index.ts
 */
export function build(doors: readonly string[]): void {
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(DIST);
  compile();
  const needed = typesOf(doors.map((door) => join(DIST, door.replace(/\.ts$/, '.d.ts'))));
  for (const path of filesBelow(DIST)) {
    if (path.endsWith('.d.ts') && !needed.has(path)) rmSync(path);
  }
  // A recipe is there to be copied, too.
  const isCopied = (path: string) => !path.endsWith('.ts') || path.startsWith('recipes/');
  for (const path of filesBelow(SRC).map((file) => relative(SRC, file))) {
    if (NOT_PACKED.test(path) || !isCopied(path)) continue;
    mkdirSync(dirname(join(DIST, path)), { recursive: true });
    copyFileSync(join(SRC, path), join(DIST, path));
  }
}

/** One file for the compiler, as its arguments cannot say everything; it lies in dist/ for a moment. */
function compile(): void {
  const config = join(DIST, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    rootDir: SRC,
    outDir: DIST,
    // What Node runs in a clone is the source without its types: nothing is to be made of newer syntax here either.
    target: 'esnext',
    rewriteRelativeImportExtensions: true,
    declaration: true,
    sourceMap: true,
    inlineSources: true,
  };
  const exclude = [join(SRC, 'handlers')];
  writeFileSync(
    config,
    JSON.stringify({ extends: '../tsconfig.json', compilerOptions, include: [SRC], exclude }),
  );
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  execFileSync(process.execPath, [tsc, '--project', config], { stdio: ['ignore', 2, 2] });
  rmSync(config);
}

/** Files with types, and all that they import. */
function typesOf(files: readonly string[], known = new Set<string>()): Set<string> {
  for (const file of files) {
    if (known.has(file)) continue;
    known.add(file);
    const imports = readFileSync(file, 'utf8').matchAll(/(?:from |import\()['"](\.[^'"]+)\.ts['"]/g);
    typesOf(
      [...imports].map(([, module]) => `${resolve(dirname(file), String(module))}.d.ts`),
      known,
    );
  }
  return known;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
