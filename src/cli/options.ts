import { type Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import { durationOf, MOMENTS, momentOf } from '../base/duration.ts';
import { KitError } from '../base/errors.ts';
import { isLoopback } from '../base/request-origin.ts';
import { httpUrlOf } from '../base/url.ts';
import { type Config, loadConfig } from '../config.ts';
import { groupNames, isKind, kindNames, kindsMeant } from '../notification/kinds.ts';
import { compose, type Members } from '../replay/compose.ts';
import type { EventFilter } from '../store/event-store.ts';
import { isEventId, isSubscriber, RESOURCE, STATUSES, WAITING } from '../store/stored.ts';
import { readInput } from './input.ts';

/** The configuration, with the options that all commands have. @throws KitError CONFIG_INVALID */
export const configOf = (command: Command): Config => loadConfig(command.optsWithGlobals());

/** The value of an option. @throws InvalidArgumentError that says what it must be, if it has none */
export function valid<T>(meant: T | undefined, must: string): T {
  if (meant !== undefined) return meant;
  throw new InvalidArgumentError(`It must be ${must}.`);
}

/** A whole number between two bounds, both included. */
export function wholeNumber(least = 0, most = 1_000_000_000): (text: string) => number {
  const meant = (text: string) =>
    /^\d{1,10}$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined;
  return (text) => valid(meant(text), `a whole number from ${least} to ${most}`);
}

/** How likely something is. */
export function probability(text: string): number {
  const number = text === '' ? Number.NaN : Number(text);
  return valid(number >= 0 && number <= 1 ? number : undefined, 'a number from 0 to 1, such as 0.1');
}

/** A length of time, `90s` or `10m`, in milliseconds. */
export const lengthOfTime = (text: string): number =>
  valid(durationOf(text), 'a number with ms, s, m, h, d or w, such as 10m');

/** A moment as people write it, in milliseconds since the epoch. */
export const moment = (text: string): number => valid(momentOf(text, systemClock.now()), MOMENTS);

/**
 * The URL of a receiver.
 * @throws KitError INPUT_INVALID without the URL, which may have a password: errors go to logs
 */
export function receiverUrl(text: string): URL {
  const url = httpUrlOf(text);
  if (url) return url;
  const example = 'http://127.0.0.1:3000/webhooks/media';
  throw new KitError('INPUT_INVALID', `a URL is like ${example}, without a password: arguments are public`);
}

/** The admin listener of a receiver elsewhere. */
export function adminUrl(text: string): URL {
  const url = httpUrlOf(text.replace(/\/*$/, '/'));
  const isWhole = url?.search === '' && url.hash === '';
  return valid(isWhole ? url : undefined, 'a URL such as https://hooks.example.com/, without a password');
}

/** The same where nobody on the way may read what is sent there. */
export function privateAdminUrl(text: string): URL {
  const url = adminUrl(text);
  const isPrivate = url.protocol === 'https:' || isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
  return valid(isPrivate ? url : undefined, 'https (http on this machine only)');
}

/** How long a handler may stand at a breakpoint. */
export const DEBUGGING_MS = 600_000;

/** @param what does it with debuggers */
export function inspectOption(what: string): Option {
  const port = new Option('--inspect [port]', `${what} on this port of 127.0.0.1 (default: 9229)`);
  return port.preset('9229').argParser(wholeNumber(0, 65_535));
}

/** The id of an event. */
export const idOfEvent = (text: string): string => {
  const id = text.replaceAll('\u200b', ''); // which an alert has behind the @, so that it mentions nobody
  return valid(isEventId(id) ? id : undefined, 'an id as `hookkit events list` shows it');
};

/** A media or channel. Events that belong to neither have a resource of their own, `event:ID`. */
export const resource = (text: string): string =>
  valid(RESOURCE.test(text) ? text : undefined, 'media:ID or channel:ID, as `hookkit events list` shows it');

/** The options of a filter. */
export type FilterFlags = Omit<EventFilter, 'ids'> & { id?: readonly string[] };

/** The names of these options, as commander knows them. */
export const FILTER_FLAGS = 'kind status waiting site resource webhook since until q error id'.split(' ');

/** Adds the options of a filter of events; together they restrict further. All events of one subscriber are still all that it has. */
export function withFilter(command: Command): Command {
  const whose = (text: string) => (text === 'all' ? text : subscriber(text));
  const named = 'whose events: a subscriber, main for the handlers without a name, or all';
  const waiting = new Option('--waiting <why>', 'why it waits: its handler asked for it, or it failed');
  return withNotificationFilter(command)
    .option('--subscriber <name>', named, whose)
    .addOption(waiting.choices(WAITING));
}

/** The same where notifications are meant, whoever handles them. */
export function withNotificationFilter(command: Command): Command {
  const groups = groupNames.join(', ');
  const ids = (text: string, before: readonly string[] = []) => [...before, idOfEvent(text)];
  return command
    .option(
      '--kind <kind>',
      `a kind, reminder, schedule:NAME, or all of a group: ${groups}; may be repeated`,
      kinds,
    )
    .addOption(new Option('--status <status>', 'the status of the event').choices(STATUSES))
    .option('--site <id>', 'the site of the event')
    .option('--resource <media:ID|channel:ID>', 'the media or channel of the event', resource)
    .option('--webhook <id>', 'the webhook that delivered the event')
    .option('--since <time>', `the event happened at or after ${MOMENTS}`, moment)
    .option('--until <time>', 'the event happened before this time', moment)
    .option('--q <text>', 'a text in the body of the event, or the id of its request')
    .option('--error <text>', 'the first line of its last error; * stands for anything')
    .option('--id <event>', 'the id of the event; may be repeated', ids);
}

/** The name of a subscriber, or `main` for the handlers without a name. */
export const subscriber = (text: string): string =>
  valid(text === MAIN || isSubscriber(text) ? text : undefined, 'the name of a subscriber, or main');

const MAIN = 'main';
/** A subscriber as the store names it. */
export const subscriberNamed = (name = MAIN) => (name === MAIN ? '' : name);

/** A kind, or all of a group. */
export function kinds(text: string, before: readonly string[] = []): readonly string[] {
  const known = `${kindNames.join(', ')}; reminder or schedule:NAME; a group: ${groupNames.join(', ')}`;
  const meant = valid(kindsMeant(text), `one of ${known}; or unknown:NAME for another one`);
  return [...new Set([...before, ...meant])];
}

/** @throws KitError INPUT_INVALID if the times leave nothing between them */
export function filterOf(flags: FilterFlags): EventFilter {
  const { kind, status, waiting, site, resource, webhook, since, until, q, error, id: ids } = flags;
  if (since !== undefined && until !== undefined && since >= until)
    throw new KitError('INPUT_INVALID', '--since must be before --until');
  const { subscriber: name = 'all' } = flags;
  const subscriber = name === 'all' ? undefined : subscriberNamed(name);
  return { kind, status, waiting, site, resource, webhook, since, until, q, error, ids, subscriber };
}

/** The options that make up the body of a notification. */
export type BodyFlags = Partial<Members> & { body?: string };

const SITE = 'site0001';
/** The webhook of a composed body if nothing names another; WEBHOOK_SECRET serves it. */
const WEBHOOK = 'webhook1';

/**
 * Adds the options that say what is in a notification.
 * @param webhook what `--webhook` means for the command
 */
export function withBody(command: Command, webhook: string): Command {
  const members = ['kind', 'media', 'thumbnail', 'track', 'channel', 'site', 'eventTime'];
  return command
    .option('--kind <kind>', 'a kind, such as media_available, or unknown:NAME for another', kind)
    .option('--media <id>', 'media_id')
    .option('--thumbnail <id>', 'thumbnail_id')
    .option('--track <id>', 'track_id')
    .option('--channel <id>', 'channel_id')
    .option('--site <id>', `site_id (default: ${SITE})`)
    .option('--webhook <id>', webhook)
    .option('--event-time <time>', `event_time: ${MOMENTS} (default: now)`, moment)
    .addOption(new Option('--body <file>', 'take the body from this file (-: stdin)').conflicts(members));
}

/**
 * The body that the options mean: the composed one, or the exact bytes of the file.
 * @param usualWebhook the webhook of a composed body if the options name none
 * @throws KitError INPUT_INVALID if neither is given, or the file cannot be read
 */
export async function bodyOf(flags: BodyFlags, usualWebhook = WEBHOOK): Promise<Buffer> {
  const { body, kind, eventTime = systemClock.now(), webhook = usualWebhook, site = SITE } = flags;
  if (body !== undefined) return readInput(body, 'the body');
  if (kind === undefined) throw new KitError('INPUT_INVALID', 'give either --kind with its ids, or --body');
  return Buffer.from(compose({ ...flags, kind, eventTime, webhook, site }));
}

function kind(text: string): string {
  const name = isKind(text) ? text : /^unknown:(.+)$/.exec(text)?.[1];
  return valid(name, `one of ${kindNames.join(', ')}, or unknown:NAME`);
}
