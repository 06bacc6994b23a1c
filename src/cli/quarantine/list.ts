import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { eventId } from '../../store/event-id.ts';
import type { Quarantined } from '../../store/event-store.ts';
import { line, print, printJson } from '../print.ts';
import { table } from '../table.ts';
import { withStore } from '../with-store.ts';

interface Flags {
  readonly webhook?: string;
  readonly json?: true;
}

const EXAMPLES = `
None of them is verified: anybody may have sent them. What is genuine is admitted once its secret is imported.

Examples:
  npx hookkit quarantine list
  npx hookkit quarantine list --webhook 2yW4KmiG --json`;

export function listCommand(): Command {
  return new Command('list')
    .description('Show what waits, in the order in which it came.')
    .option('--webhook <id>', 'only what names this webhook')
    .option('--json', 'print it as JSON')
    .addHelpText('after', EXAMPLES)
    .action(list);
}

async function list({ webhook, json }: Flags): Promise<void> {
  const waiting = await withStore(loadConfig(), (store) => store.quarantined(webhook));
  if (json) return printJson(waiting.map(viewOf));
  if (waiting.length === 0) return print('nothing is in quarantine');
  const rows = waiting
    .map(viewOf)
    .map((one) =>
      [one.received_at, one.webhook_id, one.kind, one.resource, one.event_time, one.source].map(line),
    );
  await print(table(['received', 'webhook', 'kind', 'resource', 'event time', 'from'], rows).trimEnd());
}

/** Without its token, which would verify once the secret is known. */
function viewOf({ digest, eventTime, receivedAt, ...rest }: Quarantined) {
  return {
    id: eventId(eventTime, Buffer.from(digest)),
    kind: rest.kind,
    webhook_id: rest.webhookId,
    site_id: rest.siteId,
    resource: rest.resource,
    event_time: new Date(eventTime).toISOString(),
    received_at: new Date(receivedAt).toISOString(),
    source: rest.source,
    body: rest.body,
  };
}
