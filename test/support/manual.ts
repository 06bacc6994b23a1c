import { readFileSync } from 'node:fs';

const root = new URL('../../docs/', import.meta.url);

/** The headings of a page's sections. */
export function sectionsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
}

/** The commands of a section, as its sh blocks have them, in order. */
export function commandsOf(page: string, section: string): string[] {
  const body = textOf(page).split(`\n## ${section}\n`)[1]?.split('\n## ')[0];
  if (body === undefined) throw new Error(`${page} has no section ${section}`);
  const blocks = [...body.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  return blocks.flatMap((block) => block.replaceAll('\\\n', '').trim().split('\n'));
}

export function textOf(page: string): string {
  return readFileSync(new URL(page, root), 'utf8');
}
