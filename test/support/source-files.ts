import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A file of the project. Paths have forward slashes and begin at the project's root. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export interface Import {
  /** what stands in the statement */
  readonly specifier: string;
  /** the project's file that it means; undefined for a package */
  readonly target: string | undefined;
}

/** All files below a folder of the project whose names end so. */
export function filesBelow(folder: string, ...endings: readonly string[]): SourceFile[] {
  return pathsBelow(join(root, folder))
    .filter((path) => endings.some((ending) => path.endsWith(ending)))
    .map((path) => relative(root, path).split(sep).join('/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Folders that are not ours are not entered: programs that run meanwhile make and remove files there. */
const NOT_OURS = ['node_modules', '.git'];

function pathsBelow(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return NOT_OURS.includes(entry.name) ? [] : pathsBelow(path);
    return entry.isFile() ? path : [];
  });
}

const COMMENTS = /(?<=^|\s)(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm;

const STATEMENTS = [
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]/g,
  /\bimport\.meta\.resolve\(\s*['"]([^'"]+)['"]/g,
  /\bnew URL\(\s*['"](\.[^'"]*)['"]\s*,\s*import\.meta\.url/g,
];

/** What a file's code is without its comments. */
export function codeOf({ text }: SourceFile): string {
  return text.replaceAll(COMMENTS, '');
}

/** Everything that a file imports, re-exports, loads or starts as a worker; types too. */
export function importsOf(file: SourceFile): Import[] {
  const code = codeOf(file);
  return STATEMENTS.flatMap((statement) => [...code.matchAll(statement)]).map(([, specifier = '']) => ({
    specifier,
    target: specifier.startsWith('.') ? posix.join(posix.dirname(file.path), specifier) : undefined,
  }));
}

/** The room of a file of `src/`: its folder there, or itself where it stands in none. */
export function roomOf(path: string): string {
  const [, room = ''] = path.split('/');
  return room;
}
