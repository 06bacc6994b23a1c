import type { JsonObject } from '../notification/json.ts';
import { eventTimeOf } from '../notification/payload.ts';
import type { Recorded } from './recording-lines.ts';
import { idRedactor } from './redact-id.ts';

const ID_MEMBER = /^[a-z]+(_[a-z]+)*_id$/;
const KIND_NAME = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * Makes a function that takes out of recordings what names anybody's media, channels, sites and webhooks: with one key,
 * the same id always becomes the same other id of 8 letters and digits, and without the key nobody can tell which.
 * What is left of a body is its kind, its time and its ids; everything else could hold a name and is dropped.
 * @param key at least 16 bytes
 */
export function redactor(key: Uint8Array): (recorded: Recorded) => Recorded {
  const idFor = idRedactor(key);
  // An id that is missing stays missing, so that what was invalid stays invalid.
  const redactId = (id: string): string => (id === '' ? '' : idFor(id));

  /** What is left of a member; undefined drops it. */
  const member = (name: string, value: unknown, isTimeValid: boolean): string | undefined => {
    if (typeof value !== 'string') return undefined;
    if (name === 'event') return KIND_NAME.test(value) ? value : 'redacted';
    if (name === 'event_time') return isTimeValid ? value : undefined;
    return ID_MEMBER.test(name) ? redactId(value) : undefined;
  };

  return ({ body, receivedAt, webhookId }) => {
    const value = JSON.parse(body) as JsonObject; // was checked when it was received
    const isTimeValid = eventTimeOf(value) !== undefined;
    const left: Record<string, unknown> = {};
    for (const [name, given] of Object.entries(value)) left[name] = member(name, given, isTimeValid);
    return { body: JSON.stringify(left), receivedAt, webhookId: redactId(webhookId) };
  };
}
