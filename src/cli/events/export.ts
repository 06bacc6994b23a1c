import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { plural } from '../../base/text.ts';
import { type Export, exportRecording, redactionKey, writeWholeFile } from '../../replay/export-recording.ts';
import { withReader } from '../../store/open.ts';
import { readSecret } from '../input.ts';
import { interruptible } from '../interruptible.ts';
import { configOf, type FilterFlags, filterOf, withNotificationFilter } from '../options.ts';
import { onStderr, say, writeOn } from '../output.ts';

type Flags = FilterFlags & { out?: string; redact?: true; redactKeyFile?: string };

export function addExport(events: Command): void {
  withNotificationFilter(events.command('export'))
    .description('Export events as a recording (NDJSON), which can be replayed anywhere.')
    .option('--out <file>', 'write to this file instead of stdout (`-`); it appears once it is complete')
    .option('--redact', 'replace each id by another one, the same throughout, and drop unknown members')
    .option('--redact-key-file <file>', 'redact with this key: it replaces an id alike in every recording')
    .addHelpText('after', '\nA recording has a JSON object a line, in the order of receipt, and no secret.')
    .action(exportEvents);
}

async function exportEvents({ out, redact, redactKeyFile: keyFile, ...flags }: Flags, command: Command) {
  const filter = filterOf(flags);
  const ownKey = redact ? randomBytes(32) : undefined;
  const redactKey = keyFile === undefined ? ownKey : redactionKey(await readSecret(keyFile), keyFile);
  const toFile = out !== undefined && out !== '-';
  const { exported, pruned } = await withReader(configOf(command), (store) =>
    interruptible('the recording is not complete', (signal) => {
      const how = { filter, redactKey, listener: onStderr, signal };
      const exporting = (write: Export['write']) => exportRecording(store, { ...how, write });
      return toFile ? writeWholeFile(out, exporting) : exporting(writeOn);
    }),
  );
  if (pruned > 0) say(`left out, as pruned: ${plural(pruned, 'event')}`);
  if (exported === 0) say('no event matches: the recording is empty');
  if (toFile) say(`${plural(exported, 'event')} exported to ${out}`);
}
