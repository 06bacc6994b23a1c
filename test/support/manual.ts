import { readFileSync } from 'node:fs';

const root = new URL('../../docs/', import.meta.url);

/** The commands of a section, as its sh blocks have them, in order; they must be as many as a test types. */
export function commandsOf(page: string, section: string, count: number): string[] {
  const commands = typedIn(page, section);
  if (commands.length === count) return commands;
  throw new Error(`${page} has ${commands.length} commands in ${section}, and its test types ${count}`);
}

/** The sections of a page that the list at its top does not lead to, or whose commands no test of a file types. */
export function gapsOf(page: string, tests: string): string[] {
  const text = textOf(page);
  const sections = [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
  const own = readFileSync(tests, 'utf8');
  return sections.filter((section) => {
    const isListed = text.includes(`[${section}](#${section.toLowerCase().replaceAll(' ', '-')})`);
    return !isListed || (typedIn(page, section).length > 0 && !own.includes(`'${section}'`));
  });
}

function typedIn(page: string, section: string): string[] {
  const body = textOf(page).split(`\n## ${section}\n`)[1]?.split('\n## ')[0];
  if (body === undefined) throw new Error(`${page} has no section ${section}`);
  const blocks = [...body.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  return blocks.flatMap((block) => block.replaceAll('\\\n', '').trim().split('\n'));
}

export function textOf(page: string): string {
  return readFileSync(new URL(page, root), 'utf8');
}
