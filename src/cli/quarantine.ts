import { type Command, Option } from 'commander';
import { MOMENTS } from '../base/duration.ts';
import { KitError } from '../base/errors.ts';
import { admitWaiting } from '../receiver/quarantine.ts';
import type { Quarantined } from '../store/event-store.ts';
import { withDatabase, withReader } from '../store/open.ts';
import { unprovenJson } from '../store/queue/lists/event-json.ts';
import { change, changing } from './change.ts';
import { configOf, moment } from './options.ts';
import { print, printResult, table, writeOn } from './output.ts';

type Flags = { webhook?: string; before?: number; all?: true; json?: true };

/** Refused notifications whose secret is not known. */
export function addQuarantine(program: Command): void {
  const quarantine = program
    .command('quarantine')
    .description('Manage notifications that were refused but kept, as no known secret verifies them.');
  quarantine
    .command('list')
    .description('List the notifications in quarantine, in the order in which they came.')
    .addHelpText('after', '\nNone of them is verified: anybody may have sent them.')
    .action(list);
  quarantine
    .command('admit')
    .description('Admit each notification that a secret known now verifies: it becomes an event.')
    .addHelpText('after', '\nwebhooks import and each start of the receiver do this, too.')
    .action(admit);
  quarantine
    .command('drop')
    .description('Drop notifications for good, such as those of a webhook that is deleted.')
    .option('--before <time>', `only notifications that came before ${MOMENTS}`, moment)
    .addOption(new Option('--all', 'drop all of them').conflicts(['webhook', 'before']))
    .action(drop);
  for (const command of quarantine.commands)
    command.option('--webhook <id>', 'only notifications of this webhook');
}

async function drop({ webhook, before, all, json }: Flags, command: Command): Promise<void> {
  if (!all && webhook === undefined && before === undefined)
    throw new KitError('INPUT_INVALID', 'this would drop everything: give --webhook or --before, or --all');
  const which = { before: before ?? Number.MAX_SAFE_INTEGER, webhook };
  const dropped = await changing(command, (store) => store.quarantine.drop(which));
  await printResult(json, { dropped }, `${dropped} dropped`);
}

async function list({ webhook, json }: Flags, command: Command): Promise<void> {
  await withReader(configOf(command), async (store) => {
    const rows: string[][] = [];
    // A page at a time: all bodies together may not fit into memory.
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page: readonly Quarantined[] = await store.quarantine.entries({ webhook, after });
      after = page.at(-1)?.seq;
      for (const shown of page.map(unprovenJson)) {
        const { received_at, webhook_id, kind, resource, event_time, source } = shown;
        if (json) await writeOn(`${JSON.stringify(shown)}\n`);
        else rows.push([received_at, webhook_id, kind, resource, event_time ?? '-', source]);
      }
    }
    if (json) return;
    if (rows.length === 0) return print('nothing is in quarantine');
    await print(table(['received', 'webhook', 'kind', 'resource', 'event time', 'from'], rows));
  });
}

async function admit({ webhook, json }: Flags, command: Command): Promise<void> {
  const config = configOf(command);
  await withDatabase(config, async (store) => {
    const admitted = await change(store, command, () => admitWaiting(store, config, webhook));
    const kept = await store.quarantine.size({ webhook });
    const why = kept > 0 ? ': no known secret verifies them' : '';
    await printResult(json, { admitted, kept }, `${admitted} admitted, ${kept} kept${why}`);
  });
}
