import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { admitWaiting } from '../receiver/admissions.ts';
import type { EventStore, Unproven } from '../store/event-store.ts';
import { unprovenJson } from '../store/lists/event-json.ts';
import { withDatabase } from '../store/open.ts';
import { print, printJson, table, write, writeOn } from './output.ts';

interface Flags {
  readonly webhook?: string;
  readonly json?: true;
}

const UNVERIFIED =
  '\nNone of them is verified: anybody may have sent them. A genuine one is admitted once its secret is imported.';

/** Refused notifications whose secret is not known. */
export function addQuarantine(program: Command): void {
  const quarantine = program
    .command('quarantine')
    .description(
      'List or admit notifications that were refused, as no known secret verifies them, but kept.',
    );
  quarantine
    .command('list')
    .description('List the notifications in quarantine, in the order in which they came.')
    .option('--webhook <id>', 'only notifications of this webhook')
    .option('--json', 'print it as JSON')
    .addHelpText('after', UNVERIFIED)
    .action(list);
  quarantine
    .command('admit')
    .description('Admit each notification that a secret known now verifies: it becomes an event.')
    .option('--webhook <id>', 'only notifications of this webhook')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', '\nwebhooks import and a start of the server do this, too.')
    .action(admit);
}

async function list({ webhook, json }: Flags): Promise<void> {
  await withDatabase(loadConfig(), async (store) => {
    if (json) return listJson(store, webhook);
    const rows: string[][] = [];
    for await (const entry of entriesOf(store, webhook)) {
      const { received_at, webhook_id, kind, resource, event_time, source } = unprovenJson(entry);
      rows.push([received_at, webhook_id, kind, resource, event_time ?? '-', source]);
    }
    if (rows.length === 0) return print('nothing is in quarantine');
    await write(table(['received', 'webhook', 'kind', 'resource', 'event time', 'from'], rows));
  });
}

/** The entries in the order in which they came, read a page at a time. */
async function* entriesOf(store: EventStore, webhook: string | undefined): AsyncGenerator<Unproven> {
  let page = await store.quarantined({ webhook });
  while (page.length > 0) {
    yield* page;
    page = await store.quarantined({ webhook, after: page.at(-1)?.seq });
  }
}

/** Prints one entry at a time: all bodies together may not fit into memory. */
async function listJson(store: EventStore, webhook: string | undefined): Promise<void> {
  let before = '[';
  for await (const entry of entriesOf(store, webhook)) {
    const json = JSON.stringify(unprovenJson(entry), null, 2);
    // By line feeds: a pattern's ^ takes U+2028, which strangers may send, for the end of a line too.
    await writeOn(`${before}\n  ${json.replaceAll('\n', '\n  ')}`);
    before = ',';
  }
  await print(before === '[' ? '[]' : '\n]');
}

async function admit({ webhook, json }: Flags): Promise<void> {
  const config = loadConfig();
  await withDatabase(config, async (store) => {
    const admitted = await admitWaiting(store, config, webhook);
    const kept = await store.quarantineSize(webhook);
    if (json) return printJson({ admitted, kept });
    await print(`${admitted} admitted, ${kept} kept${kept > 0 ? ': no known secret verifies them' : ''}`);
  });
}
