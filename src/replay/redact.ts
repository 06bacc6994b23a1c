import { createHmac } from 'node:crypto';
import { KitError } from '../base/errors.ts';
import { ALPHANUMERIC } from '../base/seeded-random.ts';
import type { JsonObject } from '../notification/json.ts';
import { eventTimeOf } from '../notification/payload.ts';
import type { Recorded } from './recording-lines.ts';

const ID_MEMBER = /^[a-z]+(_[a-z]+)*_id$/;
const KIND_NAME = /^[a-z][a-z0-9_]{0,63}$/;
/** In bytes. */
const SHORTEST_KEY = 16;
const ID_LENGTH = 8;

/**
 * The key of a text, without the white space at its ends.
 * @param name of the key, for the error
 * @throws KitError INPUT_INVALID if the key is too short to protect anything
 */
export function redactionKey(text: string, name: string): Uint8Array {
  const key = Buffer.from(text.trim());
  if (key.length >= SHORTEST_KEY) return key;
  throw new KitError(
    'INPUT_INVALID',
    `${name} is shorter than ${SHORTEST_KEY} bytes: make one with openssl rand -base64 32`,
  );
}

/**
 * Makes a function that takes the names of media, channels, sites and webhooks out of recordings. With one key, the same
 * id always becomes the same other id of 8 letters and digits; without the key that id cannot be computed. A body keeps
 * its kind, its time and its ids; every other member could hold a name and is dropped.
 * @param key at least 16 bytes
 */
export function redactor(key: Uint8Array): (recorded: Recorded) => Recorded {
  const member = (name: string, value: unknown, isTimeValid: boolean): string | undefined => {
    if (typeof value !== 'string') return undefined;
    if (name === 'event') return KIND_NAME.test(value) ? value : 'redacted';
    if (name === 'event_time') return isTimeValid ? value : undefined;
    return ID_MEMBER.test(name) ? redactedId(value, key) : undefined;
  };
  return ({ body, receivedAt, webhookId }) => {
    const value = JSON.parse(body) as JsonObject; // checked when it was received
    const isTimeValid = eventTimeOf(value) !== undefined;
    const left: Record<string, unknown> = {};
    for (const [name, given] of Object.entries(value)) left[name] = member(name, given, isTimeValid);
    return { body: JSON.stringify(left), receivedAt, webhookId: redactedId(webhookId, key) };
  };
}

/** Another id: among a million, two become alike in one recording of 400. A missing id stays missing. */
function redactedId(id: string, key: Uint8Array): string {
  if (id === '') return '';
  const mac = createHmac('sha256', key).update(id).digest();
  const places = Array.from({ length: ID_LENGTH }, (_, place) => mac.readUInt16BE(2 * place));
  return places.map((place) => ALPHANUMERIC[place % ALPHANUMERIC.length]).join('');
}
