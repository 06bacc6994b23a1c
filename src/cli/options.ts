import { type Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import { durationOf, UNIT_MS } from '../base/duration.ts';
import { KitError } from '../base/errors.ts';
import { groupNames, isKind, kindNames, kindsMeant } from '../notification/kinds.ts';
import { compose } from '../replay/compose.ts';
import type { Expectation } from '../replay/replay-to-handlers.ts';
import type { Reshaping } from '../replay/reshape.ts';
import type { EventFilter, Status } from '../store/event-store.ts';
import { isEventId, RESOURCE, STATUSES } from '../store/stored.ts';
import { readInput } from './input.ts';

/** A whole number between two bounds, both included. */
export function wholeNumber(least = 0, most = 1_000_000_000): (text: string) => number {
  return (text) => {
    if (/^\d{1,10}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** A probability. */
export function probability(text: string): number {
  const number = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= 0 && number <= 1) return number;
  throw new InvalidArgumentError('It must be a number from 0 to 1, such as 0.1.');
}

/** A factor of speed; `max` is Infinity. */
export function speed(text: string): number {
  if (text === 'max') return Infinity;
  const number = /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Number(text) : 0;
  if (number > 0) return number;
  throw new InvalidArgumentError('It must be a factor such as 1, 10 or 0.5, or max.');
}

/** A length of time, `90s` or `10m`, in milliseconds. */
export function duration(text: string): number {
  const ms = durationOf(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError('It must be a number with ms, s, m, h or d, such as 10m.');
}

export const TIME_HELP =
  'as 2026-11-19, 2026-11-19T14:00 or 2026-11-19T14:00:00+01:00 (UTC without an offset), or 2h ago';

const AGO = /^(\d{1,6})\s*(s|m|h|d|w)(?:\s+ago)?$/;
const DATE_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/;

/** A moment as people write it, in milliseconds since the epoch: a date, a date and time, or how long ago. */
export function moment(text: string): number {
  const [, number, unit = ''] = AGO.exec(text.trim()) ?? [];
  if (number !== undefined) return systemClock.now() - Number(number) * (UNIT_MS[unit] ?? 0);
  const [, day = '', clock = '00:00', offset = 'Z'] = DATE_TIME.exec(text.trim()) ?? [];
  const midnight = Date.parse(day);
  const time = Date.parse(`${day}T${clock}${offset}`);
  // Date.parse reads 30 February as 2 March.
  const isDay = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
  if (isDay && !Number.isNaN(time)) return time;
  throw new InvalidArgumentError(`It must be a time, ${TIME_HELP}.`);
}

/**
 * The URL of a receiver.
 * @throws KitError INPUT_INVALID if it has a password in it, or may have: without the URL, which goes to logs
 */
export function receiverUrl(text: string): URL {
  const url = URL.parse(text);
  if (url ? url.username !== '' || url.password !== '' : text.includes('@'))
    throw new KitError('INPUT_INVALID', 'arguments are public: a URL must not have a password in it');
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new InvalidArgumentError('It must be a URL such as http://127.0.0.1:3000/webhooks/media.');
}

/** The id of an event. */
export function eventId(text: string): string {
  if (isEventId(text)) return text;
  throw new InvalidArgumentError('It must be an id as `hookkit events list` shows it.');
}

/** A media or channel. Events that belong to neither have a resource of their own, `event:ID`. */
export function resource(text: string): string {
  if (RESOURCE.test(text)) return text;
  throw new InvalidArgumentError('It must be media:ID or channel:ID, as `hookkit events list` shows it.');
}

/** The options of a filter. */
export interface FilterFlags {
  readonly kind?: readonly string[];
  readonly status?: Status;
  readonly site?: string;
  readonly resource?: string;
  readonly webhook?: string;
  readonly since?: number;
  readonly until?: number;
  readonly q?: string;
  readonly error?: string;
  readonly id?: readonly string[];
}

/** The names of these options, as commander knows them. */
export const FILTER_FLAGS = [
  'kind',
  'status',
  'site',
  'resource',
  'webhook',
  'since',
  'until',
  'q',
  'error',
  'id',
];

/** Adds the options of a filter; together they restrict further. */
export function withFilter(command: Command): Command {
  return command
    .option(
      '--kind <kind>',
      `a kind, such as media_available, or all of a group: ${groupNames.join(', ')}; may be repeated`,
      kinds,
    )
    .addOption(new Option('--status <status>', 'the status of the event').choices(STATUSES))
    .option('--site <id>', 'the site of the event')
    .option('--resource <media:ID|channel:ID>', 'the media or channel of the event', resource)
    .option('--webhook <id>', 'the webhook that delivered the event')
    .option('--since <time>', `the event happened at this time or later: ${TIME_HELP}`, moment)
    .option('--until <time>', 'the event happened before this time', moment)
    .option('--q <text>', 'a text somewhere in the body of the event')
    .option('--error <text>', 'the first line of its last error; * stands for anything')
    .option('--id <event>', 'the id of the event; may be repeated', (text, before: string[] = []) => [
      ...before,
      eventId(text),
    ]);
}

function kinds(text: string, before: readonly string[] = []): readonly string[] {
  const meant = kindsMeant(text);
  if (meant !== undefined) return [...new Set([...before, ...meant])];
  const known = `${kindNames.join(', ')}; a group: ${groupNames.join(', ')}`;
  throw new InvalidArgumentError(`It must be one of ${known}; or unknown:NAME for another one.`);
}

/** @throws KitError INPUT_INVALID if the times leave nothing between them */
export function filterOf(flags: FilterFlags): EventFilter {
  const { kind, status, site, resource, webhook, since, until, q, error, id: ids } = flags;
  if (since !== undefined && until !== undefined && since >= until)
    throw new KitError('INPUT_INVALID', '--since must be before --until');
  return { kind, status, site, resource, webhook, since, until, q, error, ids };
}

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

/** The options of a replay. */
export interface ReplayFlags extends FilterFlags, Reshaping, Expectation {
  readonly all?: true;
  readonly dryRun?: true;
  readonly report?: string;
  readonly json?: true;
  readonly allowEmpty?: true;
  readonly timeout?: number;
  readonly resetSteps?: true;
  readonly run?: true;
  readonly to?: URL;
  readonly from?: string;
  readonly secretFile?: string;
  readonly concurrency?: number;
}

/** @throws KitError REPLAY_FAILED, as there is nothing to replay, unless that is allowed */
export function refuseEmpty({ allowEmpty }: ReplayFlags, pruned: number): void {
  if (allowEmpty) return;
  const why = pruned > 0 ? `the bodies of all ${pruned} events that match were pruned` : 'no event matches';
  throw new KitError('REPLAY_FAILED', `${why}: nothing is replayed (--allow-empty makes that a success)`);
}
