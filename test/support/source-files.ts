import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const root = join(import.meta.dirname, '../..');

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
export function filesBelow(folder: string, ending: string): SourceFile[] {
  return globSync(`${folder}/**/*${ending}`, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => posix.relative(root, join(parentPath, name)))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

const COMMENTS = /(?<=^|\s)(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm;

const STATEMENTS = [
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]/g,
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

/** The room of a file of `src/`: its folder there, or itself if it stands in none. */
export function roomOf(path: string): string {
  return path.split('/')[1] ?? '';
}
