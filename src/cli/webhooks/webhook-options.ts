import { type Command, InvalidArgumentError, Option } from 'commander';
import { KitError } from '../../base/errors.ts';
import { type Kind, kindNames } from '../../notification/kinds.ts';
import type { NewWebhook } from '../../provider/index.ts';
import { duration, refuseCredentials } from '../option-values.ts';

/** The options of `create` and `update`. */
export interface MetadataFlags {
  readonly name?: string;
  readonly url?: string;
  readonly site?: readonly string[];
  readonly event?: readonly Kind[];
  readonly allEvents?: true;
  readonly description?: string;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Adds the options for the settings of a webhook. */
export function withMetadataOptions(command: Command): Command {
  return command
    .option('--name <name>', 'a name for the webhook')
    .option('--url <url>', 'the URL that it sends to: https, with the path WEBHOOK_PATH', receiverUrl)
    .option('--site <id...>', 'the sites (properties) whose notifications it sends')
    .addOption(
      new Option('--event <kind...>', 'the kinds that it sends').choices(kindNames).conflicts('allEvents'),
    )
    .option('--all-events', `all ${kindNames.length} kinds`)
    .option('--description <text>', 'a description');
}

/** The option for how long a secret still verifies after its webhook is gone. */
export function graceOption(): Option {
  return new Option('--grace <time>', 'how long its secret still verifies')
    .argParser(duration)
    .default(600_000, '10m');
}

/** The members that the flags give. */
export function metadataOf({ name, url, site, event, allEvents, description }: MetadataFlags) {
  const events = allEvents ? kindNames : event;
  return {
    ...(name !== undefined && { name }),
    ...(url !== undefined && { webhook_url: url }),
    ...(site !== undefined && { site_ids: [...new Set(site)] }),
    ...(events !== undefined && { events: [...new Set(events)] }),
    ...(description !== undefined && { description }),
  } satisfies Partial<NewWebhook>;
}

/** @throws KitError INPUT_INVALID with every option that is missing */
export function newWebhookOf(flags: MetadataFlags): NewWebhook {
  const { name, webhook_url, site_ids, events, ...rest } = metadataOf(flags);
  if (name !== undefined && webhook_url && site_ids && events) {
    return { name, webhook_url, site_ids, events, ...rest };
  }
  const missing = [
    ...(name === undefined ? ['--name'] : []),
    ...(webhook_url ? [] : ['--url']),
    ...(site_ids ? [] : ['--site']),
    ...(events ? [] : ['--event or --all-events']),
  ];
  throw new KitError('INPUT_INVALID', `a new webhook needs ${missing.join(', ')} as well`);
}

function receiverUrl(text: string): string {
  refuseCredentials(text);
  const url = URL.parse(text);
  if (url === null) throw new InvalidArgumentError('It must be a URL such as https://host/webhooks/media.');
  if (url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname))) return text;
  throw new InvalidArgumentError('The provider takes https only (http on this machine, for the mock).');
}
