import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { allWebhooks } from '../../provider/index.ts';
import { readStandings, viewsOf, type WebhookView } from '../../rotation/webhook-view.ts';
import { withDatabase } from '../../store/with-store.ts';
import { line, print, printJson } from '../print.ts';
import { table } from '../table.ts';
import { webhooksClient } from './client.ts';
import { standingsOf } from './standings.ts';
import { eventsInWords, secretInWords } from './webhook-words.ts';

interface Flags {
  readonly stored?: true;
  readonly json?: true;
}

const HELP = `
The last column says how notifications of a webhook are verified:
  live            with a stored secret
  retiring        with a stored secret, until that time (after rotate or delete)
  WEBHOOK_SECRET  with the secret of the environment, as none was ever stored
  MISSING         not at all: they are refused, and wait in quarantine for webhooks import. WEBHOOK_SECRET does not serve a
                  webhook that ever had a stored secret
  gone at the provider: a secret is stored for a webhook that the provider does not have

Examples:
  npx hookkit webhooks list
  npx hookkit webhooks list --stored --json`;

export function listCommand(): Command {
  return new Command('list')
    .description('List the webhooks at the provider with the secrets that are stored here.')
    .option('--stored', 'list only the stored secrets, without asking the provider')
    .option('--json', 'print them as JSON')
    .addHelpText('after', HELP)
    .action(list);
}

async function list({ stored, json }: Flags): Promise<void> {
  const config = loadConfig();
  // Asked first: a webhook that is made meanwhile is not told of as gone.
  const registered = stored ? undefined : await allWebhooks(webhooksClient(config));
  const standings = stored
    ? await withDatabase(config, (store) => readStandings(store, config))
    : await standingsOf(config);
  const views = viewsOf(standings, registered);
  if (json) return printJson(views);
  if (views.length > 0) return print((stored ? storedTable(views) : fullTable(views)).trimEnd());
  await print(stored ? 'no secret is stored' : 'no webhook is registered, and no secret is stored');
}

function storedTable(views: readonly WebhookView[]): string {
  return table(
    ['id', 'secret'],
    views.map((view) => [line(view.id), secretInWords(view)]),
  );
}

function fullTable(views: readonly WebhookView[]): string {
  const rows = views.map((view) => {
    const { name, webhook_url: url, site_ids: sites, events } = view.provider ?? {};
    return [
      line(view.id),
      line(name ?? '-'),
      line(url ?? '-'),
      sites ? line(sites.join(', ')) || 'none' : '-',
      events ? eventsInWords(events) : '-',
      secretInWords(view),
    ];
  });
  return table(['id', 'name', 'url', 'sites', 'events', 'secret'], rows);
}
