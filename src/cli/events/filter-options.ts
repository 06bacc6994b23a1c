import { type Command, InvalidArgumentError, Option } from 'commander';
import { KitError } from '../../base/errors.ts';
import { groupNames, kindNames, kindsMeant } from '../../notification/kinds.ts';
import { isEventId } from '../../store/event-id.ts';
import type { EventFilter, Status } from '../../store/event-store.ts';
import { isResource } from '../../store/filters.ts';
import { STATUSES } from '../../store/stored.ts';
import { moment, TIME_HELP } from '../option-values.ts';

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
  readonly id?: readonly string[];
}

/** Adds the options of a filter; together they restrict further. */
export function addFilterOptions(command: Command): Command {
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
    .option('--id <event>', 'the id of the event; may be repeated', id);
}

/** @throws KitError INPUT_INVALID if the times leave nothing between them */
export function filterOf(flags: FilterFlags): EventFilter {
  const { kind, status, site, resource, webhook, since, until, q, id: ids } = flags;
  if (since !== undefined && until !== undefined && since >= until)
    throw new KitError('INPUT_INVALID', '--since must be before --until');
  return { kind, status, site, resource, webhook, since, until, q, ids };
}

/** Whether a filter leaves anything out. */
export function isRestricted(filter: EventFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined);
}

function kinds(text: string, before: readonly string[] = []): readonly string[] {
  return [...new Set([...before, ...kindsOf(text)])];
}

function kindsOf(text: string): readonly string[] {
  const meant = kindsMeant(text);
  if (meant !== undefined) return meant;
  throw new InvalidArgumentError(
    `It must be one of ${kindNames.join(', ')}; a group: ${groupNames.join(', ')}; or unknown:NAME for a kind that ` +
      'this version does not know, unknown: for what names none.',
  );
}

function resource(text: string): string {
  if (isResource(text)) return text;
  throw new InvalidArgumentError(
    'It must be media:ID or channel:ID, such as media:UUhbHm6C, or else as `hookkit events list` shows it.',
  );
}

function id(text: string, before: readonly string[] = []): readonly string[] {
  if (isEventId(text)) return [...before, text];
  throw new InvalidArgumentError(
    'It must be an id as `hookkit events list` shows it, such as loyw3uqg-0123456789abcdef0123.',
  );
}
