import { parseArgs } from 'node:util';
import { removeFilled } from './filled.ts';
import { say } from './measure.ts';
import { partOf, writeBeside, writePart } from './results.ts';
import { acks } from './sections/acks.ts';
import { burst } from './sections/burst.ts';
import { dispatch } from './sections/dispatch.ts';
import { files } from './sections/files.ts';
import { hostile } from './sections/hostile.ts';
import { loaded } from './sections/loaded.ts';
import { postgres } from './sections/postgres.ts';
import { postgresStored } from './sections/postgres-stored.ts';
import { queues } from './sections/queues.ts';
import { restart } from './sections/restart.ts';
import type { Section } from './sections/section.ts';
import { snapshot } from './sections/snapshot.ts';
import { steady } from './sections/steady.ts';
import { stored } from './sections/stored.ts';
import { sizesOf } from './sizes.ts';

// Measures the sections that are named, or all, and puts what came out into RESULTS.md; with --quick, prints it only.
// --rounds, --events and --jobs change how much is measured. BENCH_DIR: where databases lie; BENCH_KEEP=1 keeps the filled.
// BENCH_POSTGRES: the server of the sections that measure PostgreSQL.

const sections: Readonly<Record<string, Section>> = {
  acks,
  loaded,
  stored,
  burst,
  steady,
  dispatch,
  files,
  hostile,
  restart,
  postgres,
  'postgres-stored': postgresStored,
  queues,
  snapshot,
};

const text = { type: 'string' } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, rounds: text, events: text, jobs: text },
});
const wholeNumber = (name: 'rounds' | 'events' | 'jobs') => {
  const given = values[name];
  if (given === undefined || /^[1-9]\d{0,8}$/.test(given)) return given === undefined ? given : Number(given);
  throw new RangeError(`--${name} ${given}: give a whole number from 1 on`);
};
const { quick } = values;
const sizes = sizesOf({
  quick,
  rounds: wholeNumber('rounds'),
  events: wholeNumber('events'),
  jobs: wholeNumber('jobs'),
});

const names = positionals.length > 0 ? positionals : Object.keys(sections);
const chosen = names.map((name) => {
  if (sections[name]) return sections[name];
  throw new RangeError(`no section ${name}: name some of ${Object.keys(sections).join(', ')}`);
});
const titles = Object.values(sections).map(({ title }) => title);
process.on('SIGINT', () => process.exit(130)); // what lies on the disk for this run is removed at the exit
try {
  for (const { title, run, isOneRound } of chosen) {
    say(`\n${title}`);
    const rounds = isOneRound ? 1 : sizes.rounds;
    const part = await partOf(title, rounds, () => run(sizes, quick ? () => {} : writeBeside));
    process.stdout.write(`${part}\n`);
    if (!quick) writePart(part, titles);
  }
} finally {
  removeFilled();
}
