import { type Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { type JsonObject, parseJsonObject } from '../../notification/json.ts';
import { isKind, kindNames } from '../../notification/kinds.ts';
import { compose } from '../../replay/compose.ts';
import { readInput } from '../read-input.ts';
import { moment, TIME_HELP } from './when.ts';

/** What the options give that make up a notification. */
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

/** Four times what a receiver can be told to take. */
const LONGEST = 64 * 1024 * 1024;
const SITE = 'site0001';
/** In a notification whose webhook nobody names; WEBHOOK_SECRET serves it. */
export const WEBHOOK = 'webhook1';

/**
 * Adds the options that say what is in a notification.
 * @param webhook what `--webhook` means here
 */
export function addBodyOptions(command: Command, webhook: string): Command {
  return command
    .option('--kind <kind>', 'a kind, such as media_available, or unknown:NAME for another', kind)
    .option('--media <id>', 'media_id', present)
    .option('--thumbnail <id>', 'thumbnail_id', present)
    .option('--track <id>', 'track_id', present)
    .option('--channel <id>', 'channel_id', present)
    .option('--site <id>', `site_id (default: ${SITE})`, present)
    .option('--webhook <id>', webhook, present)
    .option('--event-time <time>', `event_time: ${TIME_HELP} (default: now)`, moment)
    .option('--body <file>', 'exactly this file (-: stdin) instead of the options above');
}

/** What a file has no place for. */
const MEMBERS = ['kind', 'media', 'thumbnail', 'track', 'channel', 'site', 'eventTime'] as const;

/**
 * The notification that the options mean: of a file, its very bytes.
 * @param usualWebhook whose it is, if they do not say
 * @throws KitError INPUT_INVALID if they contradict each other, or the file cannot be read
 */
export async function bodyOf(flags: BodyFlags, usualWebhook = WEBHOOK): Promise<Buffer> {
  const { body, kind, eventTime = systemClock.now(), webhook = usualWebhook, site = SITE } = flags;
  if ((body === undefined) === (kind === undefined))
    throw new KitError('INPUT_INVALID', 'give either --kind with its ids, or --body');
  if (kind !== undefined) return Buffer.from(compose({ ...flags, kind, eventTime, webhook, site }));
  const member = MEMBERS.find((name) => flags[name] !== undefined);
  if (member !== undefined) {
    const option = member === 'eventTime' ? 'event-time' : member;
    throw new KitError('INPUT_INVALID', `--body is the whole notification: leave --${option} out`);
  }
  return readInput({ file: body === '-' ? undefined : body, what: 'the body', limit: LONGEST });
}

/** What a receiver reads in a body; or why it refuses to, without quoting it. */
export type ReadBody =
  | { readonly text: string; readonly value: JsonObject; readonly problem?: undefined }
  | { readonly problem: string };

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** Reads a body as a receiver does. */
export function readBody(bytes: Buffer): ReadBody {
  const isMarked = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  if (isMarked) return { problem: 'it begins with a byte order mark' };
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: error.message };
    throw error;
  }
}

function kind(text: string): string {
  if (isKind(text)) return text;
  const [, unknown] = /^unknown:(.+)$/.exec(text) ?? [];
  if (unknown !== undefined) return unknown;
  throw new InvalidArgumentError(`It must be one of ${kindNames.join(', ')}, or unknown:NAME.`);
}

function present(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It must not be empty.');
}
