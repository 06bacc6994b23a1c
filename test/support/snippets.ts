import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = new URL('../../', import.meta.url);

/** A TypeScript block of a page. */
export interface Snippet {
  readonly page: string;
  /** the file that its first line names, as in `// pages.ts`; or one after the page and its place there */
  readonly file: string;
  readonly code: string;
}

/** @param page such as `docs/guide.md` */
export function snippetsOf(page: string): Snippet[] {
  const blocks = readFileSync(new URL(page, root), 'utf8').matchAll(
    /^ *```(?:ts|typescript)\b[^\n]*\n(.*?)^ *```$/gms,
  );
  return [...blocks].map(([, code = ''], index) => {
    const usual = `${page.replace(/\W/g, '-').toLowerCase()}-${index + 1}.ts`;
    return { page, code, file: /^\/\/ ([\w.-]+\.ts)$/m.exec(code)?.[1] ?? usual };
  });
}

/** Its code as that of a file outside of the project, which imports the project's own files. */
export function placed({ code }: Pick<Snippet, 'code'>): string {
  return code.replaceAll(/'webhook-receiver-kit(\/\w+)?'/g, (_, room = '') => `'${root}src${room}/index.ts'`);
}

/**
 * The module of a snippet.
 * @param directory where it is written, beside those that it imports
 * @typeParam Module what it exports
 */
export async function imported<Module>(snippet: Snippet, directory: string): Promise<Module> {
  const path = join(directory, snippet.file);
  writeFileSync(path, placed(snippet));
  return import(pathToFileURL(path).href);
}
