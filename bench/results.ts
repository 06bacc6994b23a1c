import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { busyness, machine } from './machine.ts';

const RESULTS = new URL('./RESULTS.md', import.meta.url);

const INTRODUCTION = `# Measured

\`npm run bench\`, or \`npm run bench -- acks dispatch\` for some sections. Each section is one run of several
rounds. A round measures each target once, and figures are medians over the rounds. Server and load generator share the machine;
every request is another notification, correctly signed.`;

/** Puts a file beside the results, which link to it. */
export function writeBeside(name: string, content: string): void {
  writeFileSync(new URL(name, RESULTS), content);
}

/** One section's part of the results: its heading, where and when it was measured, and what came out. */
export async function partOf(title: string, rounds: number, run: () => Promise<string>): Promise<string> {
  const date = new Date().toISOString().slice(0, 10);
  const where = `${machine()}; ${date}; load average ${busyness()} when it began; ${rounds} ${rounds === 1 ? 'round' : 'rounds'}.`;
  return `## ${title}\n\n${where}\n\n${await run()}`;
}

/** Puts a part in the place of the one with the same heading, in the order of `titles`; the other parts stay. */
export function writePart(part: string, titles: readonly string[]): void {
  const parts = new Map<string, string>();
  const before = existsSync(RESULTS) ? readFileSync(RESULTS, 'utf8') : '';
  for (const text of [...before.split(/^(?=## )/m).slice(1), part]) {
    parts.set(/^## (.*)/.exec(text)?.[1] ?? '', text.trim());
  }
  const inOrder = titles.map((title) => parts.get(title)).filter((text) => text !== undefined);
  writeFileSync(RESULTS, `${[INTRODUCTION, ...inOrder].join('\n\n')}\n`);
}
