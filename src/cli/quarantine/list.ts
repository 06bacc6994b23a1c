import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import type { EventStore, Unproven } from '../../store/event-store.ts';
import { unprovenJson } from '../../store/lists/event-json.ts';
import { withDatabase } from '../../store/with-store.ts';
import { line, print, writeWhileRead } from '../print.ts';
import { tableLines } from '../table.ts';

interface Flags {
  readonly webhook?: string;
  readonly json?: true;
}

const EXAMPLES = `
None of them is verified: anybody may have sent them. A genuine one is admitted once its secret is imported.

Examples:
  npx hookkit quarantine list
  npx hookkit quarantine list --webhook 2yW4KmiG --json`;

export function listCommand(): Command {
  return new Command('list')
    .description('List the notifications in quarantine, in the order in which they came.')
    .option('--webhook <id>', 'only notifications of this webhook')
    .option('--json', 'print it as JSON')
    .addHelpText('after', EXAMPLES)
    .action(list);
}

async function list({ webhook, json }: Flags): Promise<void> {
  await withDatabase(loadConfig(), async (store) => {
    if (json) return listJson(store, webhook);
    const rows: string[][] = [];
    for await (const page of unprovenPagesOf(store, webhook)) {
      for (const { received_at, webhook_id, kind, resource, event_time, source } of page.map(unprovenJson))
        rows.push([received_at, webhook_id, kind, resource, event_time, source].map(line));
    }
    if (rows.length === 0) return print('nothing is in quarantine');
    const head = ['received', 'webhook', 'kind', 'resource', 'event time', 'from'];
    for (const text of tableLines(head, () => rows)) await writeWhileRead(text);
  });
}

/** The entries in the order in which they came, a page at a time. */
async function* unprovenPagesOf(
  store: Pick<EventStore, 'quarantined'>,
  webhook: string | undefined,
): AsyncGenerator<readonly Unproven[]> {
  for (let after: number | undefined; ; ) {
    const page = await store.quarantined({ webhook, after });
    if (page.length === 0) return;
    yield page;
    after = page.at(-1)?.seq;
  }
}

/** Prints one entry at a time: all bodies together may not fit into memory. */
async function listJson(store: EventStore, webhook: string | undefined): Promise<void> {
  let isFirst = true;
  for await (const page of unprovenPagesOf(store, webhook)) {
    for (const entry of page) {
      const json = JSON.stringify(unprovenJson(entry), null, 2);
      // By line feeds: a pattern's ^ takes U+2028, which strangers may send, for the end of a line too.
      await writeWhileRead(`${isFirst ? '[' : ','}\n  ${json.replaceAll('\n', '\n  ')}`);
      isFirst = false;
    }
  }
  await print(isFirst ? '[]' : '\n]');
}
