import type { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { plural } from '../../base/text.ts';
import { importRecording } from '../../replay/import-recording.ts';
import { recordingSource } from '../../replay/sources.ts';
import { changing } from '../change.ts';
import { interruptible } from '../interruptible.ts';
import { configOf } from '../options.ts';
import { onStderr, printResult } from '../output.ts';

export function addImport(events: Command): void {
  events
    .command('import')
    .description('Import payloads as events. No signature is checked: you vouch for them.')
    .argument('<file>', 'a recording, payloads, or another file that replay --from takes (-: stdin)')
    .action(importEvents);
}

async function importEvents(file: string, { json }: { json?: true }, command: Command): Promise<void> {
  const { BODY_LIMIT: bodyLimit } = configOf(command);
  await interruptible('run it again to import the rest', async (signal) => {
    const source = await recordingSource(file === '-' ? process.stdin : file, { signal });
    const importing = { bodyLimit, listener: onStderr, signal };
    const done = await changing(command, (store) => importRecording(store, source, importing));
    const { events: imported, duplicates, leftOut } = done;
    const text = `${plural(imported, 'event')} imported, ${duplicates} already recorded, ${leftOut} left out`;
    await printResult(json, { imported, duplicates, left_out: leftOut }, text);
    signal.throwIfAborted();
    if (leftOut > 0) throw new KitError('REPLAY_FAILED', `left out: ${plural(leftOut, 'entry', 'entries')}`);
  });
}
