import { Argument, Command } from 'commander';
import { atLeastOne } from '../src/cli/option-values.ts';
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
import { type SizeOptions, sizesOf } from './sizes.ts';

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

const names = Object.keys(sections);
const command = new Command('npm run bench --')
  .description(
    'Measure the sections that are named, or all, and put what came out into bench/RESULTS.md. The environment: BENCH_DIR, where ' +
      'databases lie; BENCH_KEEP=1 keeps the filled ones; BENCH_POSTGRES, the server of the sections that measure PostgreSQL.',
  )
  .addArgument(new Argument('[section...]', 'which to measure').choices(names).default(names, 'all'))
  .option('--quick', 'measure little, and print it only', false)
  .option('--rounds <count>', 'how often to measure', atLeastOne)
  .option('--events <count>', 'how many events to measure with', atLeastOne)
  .option('--jobs <count>', 'how many jobs to measure with', atLeastOne)
  .parse();
const options = command.opts<SizeOptions>();
const sizes = sizesOf(options);
const chosen = command.args.length > 0 ? command.args : names;
const titles = Object.values(sections).map(({ title }) => title);
process.on('SIGINT', () => process.exit(130)); // what lies on the disk for this run is removed at the exit
try {
  for (const [name, { title, run, isOneRound }] of Object.entries(sections)) {
    if (!chosen.includes(name)) continue;
    say(`\n${title}`);
    const rounds = isOneRound ? 1 : sizes.rounds;
    const part = await partOf(title, rounds, () => run(sizes, options.quick ? () => {} : writeBeside));
    process.stdout.write(`${part}\n`);
    if (!options.quick) writePart(part, titles);
  }
} finally {
  removeFilled();
}
