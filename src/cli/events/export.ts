import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { type Recorded, toLine } from '../../recording/recorded.ts';
import { redactor } from '../../recording/redact.ts';
import type { EventFilter, EventStore } from '../../store/event-store.ts';
import { interruptible } from '../interruptible.ts';
import { say, writeWhileRead } from '../print.ts';
import { pathOf } from '../terminal.ts';
import { DraftFile } from './draft-file.ts';
import { receivedPagesOf } from './each-event.ts';
import { addFilterOptions, type FilterFlags, filterOf } from './filter-options.ts';
import { withDatabase } from './open-database.ts';
import { Progress } from './progress.ts';
import { readKey } from './redact-key.ts';
import { keepHeapSmall } from './small-heap.ts';

interface Flags extends FilterFlags {
  readonly out?: string;
  readonly redact?: true;
  readonly redactKeyFile?: string;
}

const COLLECT_EVERY = 20_000;

const EXAMPLES = `
A recording has a JSON object a line: {"v":1,"body":"...","received_at":"...","webhook_id":"..."}, in the order in which
the events were received. It holds no secret and no token. docs/replay.md describes it.

Examples:
  npx hookkit events export --since 2026-11-19 --until 2026-11-20 --out yesterday.ndjson
  npx hookkit events export --kind channels | gzip > channels.ndjson.gz
  npx hookkit events export --redact --redact-key-file redact.key --out shared.ndjson`;

export function exportCommand(): Command {
  return addFilterOptions(new Command('export'))
    .description('Write events as a recording (NDJSON) that can be replayed anywhere.')
    .option('--out <file>', 'where to write it; without it, stdout. The file appears once it is complete')
    .option(
      '--redact',
      'replace every id by another one, the same always by the same, and drop unknown members',
    )
    .option(
      '--redact-key-file <file>',
      'the key for --redact (any 16 bytes or more): equal in all recordings made with it',
    )
    .addHelpText('after', EXAMPLES)
    .action(exportEvents);
}

async function exportEvents({ out, redact, redactKeyFile, ...flags }: Flags): Promise<void> {
  if (redactKeyFile !== undefined && !redact)
    throw new KitError('INPUT_INVALID', '--redact-key-file is for --redact: give both');
  const filter = filterOf(flags);
  const change = redact
    ? redactor(redactKeyFile ? await readKey(redactKeyFile) : randomBytes(32))
    : undefined;
  await withDatabase(loadConfig(), (store) =>
    interruptible('run it again', async (signal) => {
      if (out === undefined)
        return tell(
          await writeAll({ store, filter, change, signal, write: writeWhileRead }),
          signal,
          'stdout',
        );
      const draft = await DraftFile.create(pathOf(out));
      try {
        const written = await writeAll({ store, filter, change, signal, write: (text) => draft.write(text) });
        await (signal.aborted ? draft.discard() : draft.commit());
        tell(written, signal, out);
      } catch (error) {
        await draft.discard().catch(() => {}); // the first error is the one to tell
        throw error;
      }
    }),
  );
}

interface Export {
  readonly store: EventStore;
  readonly filter: EventFilter;
  readonly change: ((recorded: Recorded) => Recorded) | undefined;
  readonly signal: AbortSignal;
  readonly write: (text: string) => Promise<void>;
}

interface Written {
  exported: number;
  pruned: number;
}

async function writeAll({ store, filter, change = (same) => same, signal, write }: Export): Promise<Written> {
  const written: Written = { exported: 0, pruned: 0 };
  const progress = new Progress({ verb: 'exported' });
  const oneMore = keepHeapSmall(COLLECT_EVERY);
  const total = await store.count(filter);
  for await (const page of receivedPagesOf(store, filter)) {
    if (signal.aborted) break;
    let text = '';
    for (const { body, receivedAt, webhookId } of page) {
      oneMore();
      if (body === undefined) {
        written.pruned++;
        continue;
      }
      text += `${toLine(change({ body, receivedAt, webhookId }))}\n`;
      written.exported++;
    }
    if (text !== '') await write(text);
    progress.show(written.exported, (written.exported + written.pruned) / total);
  }
  progress.end();
  return written;
}

function tell({ exported, pruned }: Written, signal: AbortSignal, where: string): void {
  if (signal.aborted) {
    const kept = where === 'stdout' ? `${exported} events were written` : `${where} was not written`;
    throw new KitError('INTERRUPTED', `interrupted after ${exported} events: ${kept}`);
  }
  if (pruned > 0) say(`left out: ${pruned} events whose bodies were pruned`);
  if (exported === 0) say('no event matches: the recording is empty');
  if (where !== 'stdout') say(`${exported} events exported to ${where}`);
}
