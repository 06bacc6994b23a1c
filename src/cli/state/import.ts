import { addAbortSignal } from 'node:stream';
import { Command } from 'commander';
import { KitError, messageOf } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { importStates } from '../../replay/state-lines.ts';
import { withDatabase } from '../../store/with-store.ts';
import { interruptible } from '../interruptible.ts';
import { print, printJson } from '../print.ts';
import { isStdin, openInput } from '../read-input.ts';

interface Flags {
  readonly from?: string;
  readonly json?: true;
}

const EXAMPLES = `
Each media and channel that has a line gets the state of that line in place of its own; others keep theirs. The server may run
meanwhile. A handler that runs now still has the state as it was, and may change it again. The import ends at
the first line that it cannot read, names it, and exits with 1. The lines before it are imported: correct the line, and import all again.

Examples:
  npx hookkit state import --from state.ndjson
  gunzip -c state.ndjson.gz | npx hookkit state import --json`;

export function importCommand(): Command {
  return new Command('import')
    .description('Give media and channels the state that `hookkit state export` has written.')
    .option('--from <file>', 'the file; `-` or none: stdin')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(importAll);
}

async function importAll({ from, json }: Flags): Promise<void> {
  const name = isStdin(from) ? 'stdin' : from;
  await withDatabase(loadConfig(), (store) =>
    interruptible('run it again', async (signal) => {
      const { imported, broken } = await importStates(store, chunksOf(from, { name, signal }), signal);
      signal.throwIfAborted();
      if (broken)
        throw new KitError(
          'IMPORT_FAILED',
          `line ${broken.number} of ${name}: ${broken.problem}; what is before it is imported (${imported}): mend the line, and import all of it again`,
        );
      if (json) return printJson({ imported });
      await print(`the state of ${imported} media and channels imported`);
    }),
  );
}

async function* chunksOf(
  from: string | undefined,
  { name, signal }: { readonly name: string; readonly signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  try {
    yield* addAbortSignal(signal, openInput(from));
  } catch (cause) {
    signal.throwIfAborted();
    throw new KitError('INPUT_INVALID', `cannot read ${name}: ${messageOf(cause)}`, { cause });
  }
}
