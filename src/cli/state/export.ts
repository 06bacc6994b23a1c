import { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { exportStates } from '../../replay/state-lines.ts';
import { withDatabase } from '../../store/with-store.ts';
import { interruptible } from '../interruptible.ts';
import { say } from '../print.ts';
import { outFile, writeOut } from '../write-out.ts';

const EXAMPLES = `
A line for each media or channel that has a state: {"v":1,"resource":"media:...","state":{"name":value}}. The server may run
meanwhile. \`hookkit state import\` reads it, at another database, too.

Examples:
  npx hookkit state export --out state.ndjson
  npx hookkit state export | gzip > state.ndjson.gz`;

const STATES = { what: 'such an export', member: 'state' } as const;

export function exportCommand(): Command {
  return new Command('export')
    .description('Export the state of all media and channels (NDJSON).')
    .option(
      '--out <file>',
      'write to this file instead of stdout (`-`); the file appears once it is complete',
    )
    .addHelpText('after', EXAMPLES)
    .action(exportAll);
}

async function exportAll({ out: given }: { out?: string }): Promise<void> {
  const out = outFile(given);
  await withDatabase(loadConfig(), (store) =>
    interruptible('run it again', async (signal) => {
      const exported = await writeOut(
        out,
        STATES,
        async (write) => {
          const written = await exportStates(store, { write, signal });
          if (!signal.aborted) return written;
          const kept = out === undefined ? 'the end is missing' : `${out} was not written`;
          throw new KitError('INTERRUPTED', `interrupted: ${kept}`);
        },
        signal,
      );
      if (exported === 0) say('no media or channel has a state: the export is empty');
      else if (out !== undefined) say(`the state of ${exported} media and channels exported to ${out}`);
    }),
  );
}
