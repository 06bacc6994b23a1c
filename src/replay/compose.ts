import { wholeSeconds } from '../base/duration.ts';
import { KitError } from '../base/errors.ts';
import { type JsonObject, parseBody, UnusableBody } from '../notification/json.ts';
import { isKind, KINDS } from '../notification/kinds.ts';

/** The members of a composed body. */
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

const IDS = ['media', 'thumbnail', 'track', 'channel'] as const;

/**
 * Composes the body of a notification as the provider writes it.
 * @throws KitError INPUT_INVALID if an id of the kind is missing, or the kind has no such id
 */
export function compose(members: Members): string {
  const { kind, webhook, site, eventTime } = members;
  const wanted: readonly string[] | undefined = isKind(kind) ? KINDS[kind].ids : undefined;
  const ids: Record<string, string> = {};
  for (const name of IDS) {
    const given = members[name];
    const isWanted = wanted?.includes(`${name}_id`) ?? given !== undefined;
    if (isWanted && given === undefined) throw new KitError('INPUT_INVALID', `${kind} needs --${name}`);
    if (!isWanted && given !== undefined)
      throw new KitError('INPUT_INVALID', `${kind} has no ${name}_id: leave --${name} out`);
    if (given !== undefined) ids[`${name}_id`] = given;
  }
  const event_time = wholeSeconds(eventTime);
  return JSON.stringify({ event: kind, ...ids, webhook_id: webhook, site_id: site, event_time });
}

/** A body as a receiver reads it, or why a receiver refuses to read it; the problem quotes nothing of the body. */
export type ReadBody =
  | { readonly text: string; readonly value: JsonObject; readonly problem?: undefined }
  | { readonly problem: string };

/** Reads a body as a receiver does. */
export function readBody(bytes: Buffer): ReadBody {
  try {
    return parseBody(bytes);
  } catch (error) {
    if (error instanceof UnusableBody) return { problem: error.message };
    throw error;
  }
}

/** The answer of every receiver that refuses a body unread, with its reason; undefined if a receiver reads the body. */
export function refusalOf(body: Buffer, limit: number): string | undefined {
  const { problem } = readBody(body);
  if (problem !== undefined) return `400 (${problem})`;
  return body.length > limit ? `413 (it has ${body.length} bytes, and BODY_LIMIT is ${limit})` : undefined;
}

/** The webhook that a body names; undefined if it names none, or no receiver can read it. */
export function webhookOf(body: Buffer): string | undefined {
  const read = readBody(body);
  const named = read.problem === undefined ? read.value.webhook_id : undefined;
  return typeof named === 'string' ? named : undefined;
}
