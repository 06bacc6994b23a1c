import { type Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { isKind, kindNames } from '../notification/kinds.ts';
import { compose } from '../replay/compose.ts';
import { readInput } from './input.ts';
import { moment, TIME_HELP } from './options.ts';

/** The options that make up the body of a notification. */
export interface BodyFlags {
  readonly kind?: string;
  readonly media?: string;
  readonly thumbnail?: string;
  readonly track?: string;
  readonly channel?: string;
  readonly site?: string;
  readonly webhook?: string;
  readonly eventTime?: number;
  readonly body?: string;
}

/** In bytes; four times the largest limit of a receiver. */
const LONGEST = 64 * 1024 * 1024;
const SITE = 'site0001';
/** The webhook of a composed body if nothing names another; WEBHOOK_SECRET serves it. */
const WEBHOOK = 'webhook1';
/** The options that contradict a file. */
const MEMBERS = ['kind', 'media', 'thumbnail', 'track', 'channel', 'site', 'eventTime'];

/**
 * Adds the options that say what is in a notification.
 * @param webhook what `--webhook` means for the command
 */
export function withBody(command: Command, webhook: string): Command {
  return command
    .option('--kind <kind>', 'a kind, such as media_available, or unknown:NAME for another', kind)
    .option('--media <id>', 'media_id')
    .option('--thumbnail <id>', 'thumbnail_id')
    .option('--track <id>', 'track_id')
    .option('--channel <id>', 'channel_id')
    .option('--site <id>', `site_id (default: ${SITE})`)
    .option('--webhook <id>', webhook)
    .option('--event-time <time>', `event_time: ${TIME_HELP} (default: now)`, moment)
    .addOption(new Option('--body <file>', 'take exactly this file (-: stdin) instead').conflicts(MEMBERS));
}

/**
 * The body that the options mean: the composed one, or the exact bytes of the file.
 * @param usualWebhook the webhook of a composed body if the options name none
 * @throws KitError INPUT_INVALID if neither is given, or the file cannot be read
 */
export async function bodyOf(flags: BodyFlags, usualWebhook = WEBHOOK): Promise<Buffer> {
  const { body, kind, eventTime = systemClock.now(), webhook = usualWebhook, site = SITE } = flags;
  if (body !== undefined) return readInput({ file: body, what: 'the body', limit: LONGEST });
  if (kind === undefined) throw new KitError('INPUT_INVALID', 'give either --kind with its ids, or --body');
  return Buffer.from(compose({ ...flags, kind, eventTime, webhook, site }));
}

function kind(text: string): string {
  if (isKind(text)) return text;
  const [, unknown] = /^unknown:(.+)$/.exec(text) ?? [];
  if (unknown !== undefined) return unknown;
  throw new InvalidArgumentError(`It must be one of ${kindNames.join(', ')}, or unknown:NAME.`);
}
