import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { exportRecording, redactionKey, writeWholeFile } from '../../replay/export-recording.ts';
import { withDatabase } from '../../store/open.ts';
import { readInput } from '../input.ts';
import { interruptible } from '../interruptible.ts';
import { type FilterFlags, filterOf, withFilter } from '../options.ts';
import { listenerOnStderr, say, writeOn } from '../output.ts';

interface Flags extends FilterFlags {
  readonly out?: string;
  readonly redact?: true;
  readonly redactKeyFile?: string;
}

/** In bytes; far longer than any key. */
const LONGEST_KEY = 65_536;

const HELP =
  '\nA recording has a JSON object a line, in the order in which the events were received, and holds no secret.';

export function addExport(events: Command): void {
  withFilter(events.command('export'))
    .description('Export events as a recording (NDJSON), which can be replayed anywhere.')
    .option('--out <file>', 'write to this file instead of stdout (`-`); it appears once it is complete')
    .option('--redact', 'replace each id by another one, always by the same, and drop unknown members')
    .addOption(
      new Option(
        '--redact-key-file <file>',
        'redact with this key: the same id gives the same other id',
      ).implies({ redact: true }),
    )
    .addHelpText('after', HELP)
    .action(exportEvents);
}

async function exportEvents({ out, redact, redactKeyFile, ...flags }: Flags): Promise<void> {
  const filter = filterOf(flags);
  const redactKey = redact ? await keyOf(redactKeyFile) : undefined;
  const listener = listenerOnStderr();
  const toFile = out !== undefined && out !== '-';
  const { exported, pruned } = await withDatabase(loadConfig(), (store) =>
    interruptible('run it again', (signal) => {
      const exporting = async (write: (lines: string) => Promise<void>) => {
        const written = await exportRecording(store, { filter, write, redactKey, listener, signal });
        if (!signal.aborted) return written;
        const kept = toFile ? `${out} was not written` : `${written.exported} events were written`;
        throw new KitError('INTERRUPTED', `interrupted after ${written.exported} events: ${kept}`);
      };
      return toFile ? writeWholeFile(out, exporting) : exporting(writeOn);
    }),
  );
  if (pruned > 0) say(`left out: ${pruned} events whose bodies were pruned`);
  if (exported === 0) say('no event matches: the recording is empty');
  if (toFile) say(`${exported} events exported to ${out}`);
}

async function keyOf(file: string | undefined): Promise<Uint8Array> {
  if (file === undefined) return randomBytes(32);
  const given = await readInput({ file, what: 'the redaction key', limit: LONGEST_KEY });
  return redactionKey(given.toString('utf8'), `the redaction key in ${file}`);
}
