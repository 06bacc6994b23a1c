import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { eventId } from '../../store/event-id.ts';
import type { EventStore, Unproven } from '../../store/event-store.ts';
import { withStore } from '../../store/with-store.ts';
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
  await withStore(loadConfig(), async (store) => {
    if (json) return listJson(store, webhook);
    const rows: string[][] = [];
    for await (const { received_at, webhook_id, kind, resource, event_time, source } of entries(
      store,
      webhook,
    )) {
      rows.push([received_at, webhook_id, kind, resource, event_time, source].map(line));
    }
    if (rows.length === 0) return print('nothing is in quarantine');
    const head = ['received', 'webhook', 'kind', 'resource', 'event time', 'from'];
    for (const text of tableLines(head, () => rows)) await writeWhileRead(text);
  });
}

/** Prints one entry at a time: all bodies together may not fit into memory. */
async function listJson(store: EventStore, webhook: string | undefined): Promise<void> {
  let isFirst = true;
  for await (const entry of entries(store, webhook)) {
    // By line feeds: a pattern's ^ takes U+2028, which strangers may send, for the end of a line too.
    await writeWhileRead(
      `${isFirst ? '[' : ','}\n  ${JSON.stringify(entry, null, 2).replaceAll('\n', '\n  ')}`,
    );
    isFirst = false;
  }
  await print(isFirst ? '[]' : '\n]');
}

async function* entries(store: EventStore, webhook: string | undefined) {
  for (let after: number | undefined; ; ) {
    const page = await store.unproven({ webhook, after });
    if (page.length === 0) return;
    for (const entry of page) yield viewOf(entry);
    after = page.at(-1)?.place;
  }
}

/** An entry without its token: once the secret is known, the token would verify. */
function viewOf({ digest, eventTime, receivedAt, ...rest }: Unproven) {
  return {
    id: eventId(eventTime, Buffer.from(digest)),
    kind: rest.kind,
    webhook_id: rest.webhookId,
    site_id: rest.siteId,
    resource: rest.resource,
    event_time: new Date(eventTime).toISOString(),
    received_at: new Date(receivedAt).toISOString(),
    source: rest.source,
    deliveries: rest.deliveries,
    body: rest.body,
  };
}
