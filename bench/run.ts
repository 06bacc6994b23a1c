import { writeFileSync } from 'node:fs';
import { Argument, Command } from 'commander';
import { acks } from './acks.ts';
import { backlog } from './backlog.ts';
import { lists } from './lists.ts';
import { memory } from './memory.ts';
import { circumstances, goalTable, type Part } from './page.ts';
import { say } from './rounds.ts';
import { FULL, QUICK } from './sizes.ts';
import { tokens } from './tokens.ts';

const sections = { acks, tokens, backlog, memory, lists };
const names = Object.keys(sections) as (keyof typeof sections)[];

const command = new Command('npm run bench --')
  .description(
    'Measure all, in at most 15 minutes, and write bench/RESULTS.md; or measure some sections, and print. It needs wrk. The environment: ' +
      'BENCH_DIR, where SQLite databases lie; BENCH_POSTGRES (postgres://USER@HOST:PORT/postgres), a server in place of one of its own.',
  )
  .addArgument(new Argument('[section...]', 'which to measure').choices(names))
  .option('--quick', 'measure in some 3 minutes, and print', false)
  .parse();
const { quick } = command.opts<{ quick: boolean }>();
const chosen = names.filter((name) => command.args.length === 0 || command.args.includes(name));

/** A benchmark that hangs ends, with all that it has started. */
const MOST_MS = 20 * 60_000;
setTimeout(() => {
  say('it takes too long');
  process.exit(1);
}, MOST_MS).unref();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

const where = circumstances();
const began = performance.now();
const parts: Part[] = [];
for (const name of chosen) {
  say(`\n${name}`);
  parts.push(await sections[name](quick ? QUICK : FULL));
}
const minutes = ((performance.now() - began) / 60_000).toFixed(1);
const told = ['npm run bench', ...process.argv.slice(2)].join(' ').replace('bench ', 'bench -- ');
const page = `# Measured

${where} \`${told}\` took ${minutes} minutes.
The service is \`hookkit serve\` with handlers that do nothing, as operators start it, and everything is handled as it comes. Servers, load and
database share the machine. Every request is another notification, correctly signed. Figures are medians.

${goalTable(parts.flatMap(({ goals }) => goals))}

${parts.map(({ text }) => text).join('\n\n')}
`;
process.stdout.write(page);
if (!quick && chosen.length === names.length) writeFileSync(new URL('RESULTS.md', import.meta.url), page);
process.exit(0); // an own PostgreSQL goes with it
