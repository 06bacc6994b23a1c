import { createHash, hash } from 'node:crypto';
import { KitError } from '../base/errors.ts';
import { ALPHANUMERIC } from '../base/seeded-random.ts';
import type { JsonObject } from '../notification/json.ts';
import { eventTimeOf } from '../notification/payload.ts';
import type { Recorded } from './recording-lines.ts';

const ID_MEMBER = /^[a-z]+(_[a-z]+)*_id$/;
const KIND_NAME = /^[a-z][a-z0-9_]{0,63}$/;
/** In bytes. */
const SHORTEST_KEY = 16;
const HALF_ID = 4;
/** Hex digits that make a number of 32 bits. */
const WORD = 8;

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
  const idFor = idRedactor(key);
  // A missing id stays missing, so that an invalid notification stays invalid.
  const redactId = (id: string): string => (id === '' ? '' : idFor(id));

  /** The replacement of a member; undefined drops it. */
  const member = (name: string, value: unknown, isTimeValid: boolean): string | undefined => {
    if (typeof value !== 'string') return undefined;
    if (name === 'event') return KIND_NAME.test(value) ? value : 'redacted';
    if (name === 'event_time') return isTimeValid ? value : undefined;
    return ID_MEMBER.test(name) ? redactId(value) : undefined;
  };

  return ({ body, receivedAt, webhookId }) => {
    const value = JSON.parse(body) as JsonObject; // checked when it was received
    const isTimeValid = eventTimeOf(value) !== undefined;
    const left: Record<string, unknown> = {};
    for (const [name, given] of Object.entries(value)) left[name] = member(name, given, isTimeValid);
    return { body: JSON.stringify(left), receivedAt, webhookId: redactId(webhookId) };
  };
}

/**
 * Makes a function that turns an id into another one of 8 letters and digits, the same for the same id and key. As in
 * HMAC, the id is hashed with SHA-256 behind one secret block and the result behind another. 47 bits of it are kept: among
 * a million ids, two become alike in one recording of 400.
 *
 * It hashes texts in one call: Hmac objects and Buffers for a million ids take 80 MB until they are collected.
 */
export function idRedactor(key: Uint8Array): (id: string) => string {
  const block = (purpose: string) => createHash('sha256').update(`${purpose}\n`).update(key).digest('hex');
  const inner = block('inner');
  const outer = block('outer');
  return (id) => {
    const mac = hash('sha256', outer + hash('sha256', inner + id));
    return letters(mac.slice(0, WORD)) + letters(mac.slice(WORD, 2 * WORD));
  };
}

function letters(hex: string): string {
  let text = '';
  for (
    let left = Number.parseInt(hex, 16);
    text.length < HALF_ID;
    left = Math.floor(left / ALPHANUMERIC.length)
  ) {
    text += ALPHANUMERIC[left % ALPHANUMERIC.length];
  }
  return text;
}
