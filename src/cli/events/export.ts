import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { type Exported, exportRecording } from '../../replay/export-recording.ts';
import { redactionKey } from '../../replay/redact.ts';
import { withDatabase } from '../../store/with-store.ts';
import { interruptible } from '../interruptible.ts';
import { say } from '../print.ts';
import { readInput } from '../read-input.ts';
import { outFile, writeOut } from '../write-out.ts';
import { addFilterOptions, type FilterFlags, filterOf } from './filter-options.ts';
import { listenerOnStderr } from './progress-bar.ts';

interface Flags extends FilterFlags {
  readonly out?: string;
  readonly redact?: true;
  readonly redactKeyFile?: string;
}

/** In bytes; far longer than any key. */
const LONGEST_KEY = 65_536;

const EXAMPLES = `
A recording has a JSON object a line: {"v":1,"body":"...","received_at":"...","webhook_id":"..."}, in the order in which
the events were received. It holds no secret and no token. docs/replay.md describes it.

Examples:
  npx hookkit events export --since 2026-11-19 --until 2026-11-20 --out yesterday.ndjson
  npx hookkit events export --kind channels | gzip > channels.ndjson.gz
  npx hookkit events export --redact --redact-key-file redact.key --out shared.ndjson`;

export function exportCommand(): Command {
  return addFilterOptions(new Command('export'))
    .description('Export events as a recording (NDJSON), which can be replayed anywhere.')
    .option(
      '--out <file>',
      'write to this file instead of stdout (`-`); the file appears once it is complete',
    )
    .option('--redact', 'replace each id by another one, always by the same, and drop unknown members')
    .option(
      '--redact-key-file <file>',
      'the key for --redact (16 bytes or more): recordings made with it replace the same id by the same other id',
    )
    .addHelpText('after', EXAMPLES)
    .action(exportEvents);
}

async function exportEvents({ out: given, redact, redactKeyFile, ...flags }: Flags): Promise<void> {
  const out = outFile(given);
  if (redactKeyFile !== undefined && !redact)
    throw new KitError('INPUT_INVALID', '--redact-key-file is for --redact: give both');
  const filter = filterOf(flags);
  const redactKey = redact ? await keyOf(redactKeyFile) : undefined;
  const listener = listenerOnStderr();
  await withDatabase(loadConfig(), (store) =>
    interruptible('run it again', async (signal) => {
      const exported = await writeOut(out, async (write) => {
        const written = await exportRecording(store, { filter, write, redactKey, listener, signal });
        if (signal.aborted) throw interrupted(written, out);
        return written;
      });
      tell(exported, out);
    }),
  );
}

async function keyOf(file: string | undefined): Promise<Uint8Array> {
  if (file === undefined) return randomBytes(32);
  const given = await readInput({ file, what: 'the redaction key', limit: LONGEST_KEY });
  return redactionKey(given.toString('utf8'), `the redaction key in ${file}`);
}

function interrupted({ exported }: Exported, out: string | undefined): KitError {
  const kept = out === undefined ? `${exported} events were written` : `${out} was not written`;
  return new KitError('INTERRUPTED', `interrupted after ${exported} events: ${kept}`);
}

function tell({ exported, pruned }: Exported, out: string | undefined): void {
  if (pruned > 0) say(`left out: ${pruned} events whose bodies were pruned`);
  if (exported === 0) say('no event matches: the recording is empty');
  if (out !== undefined) say(`${exported} events exported to ${out}`);
}
