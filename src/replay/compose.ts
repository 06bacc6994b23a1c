import { KitError } from '../base/errors.ts';
import { isKind, KINDS } from '../notification/kinds.ts';

/** What a notification is made of on the command line. */
export interface Members {
  readonly kind: string;
  readonly webhook: string;
  readonly site: string;
  /** milliseconds since the epoch */
  readonly eventTime: number;
  readonly media?: string;
  readonly thumbnail?: string;
  readonly track?: string;
  readonly channel?: string;
}

const ID_OPTIONS = ['media', 'thumbnail', 'track', 'channel'] as const;

/**
 * The body of a notification as the provider writes it.
 * @throws KitError INPUT_INVALID if an id of its kind is missing, or one is given that it does not have
 */
export function compose(members: Members): string {
  const { kind, webhook, site, eventTime } = members;
  const wanted: readonly string[] | undefined = isKind(kind) ? KINDS[kind].ids : undefined;
  const ids: Record<string, string> = {};
  for (const option of ID_OPTIONS) {
    const given = members[option];
    const isWanted = wanted?.includes(`${option}_id`) ?? given !== undefined;
    if (isWanted && given === undefined) throw new KitError('INPUT_INVALID', `${kind} needs --${option}`);
    if (!isWanted && given !== undefined)
      throw new KitError('INPUT_INVALID', `${kind} has no ${option}_id: leave --${option} out`);
    if (given !== undefined) ids[`${option}_id`] = given;
  }
  const event_time = `${new Date(eventTime).toISOString().slice(0, 19)}+00:00`;
  return JSON.stringify({ event: kind, ...ids, webhook_id: webhook, site_id: site, event_time });
}
