import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { jsonOf } from '../base/answer-body.ts';

/** A JSON object as JSON.parse returns it. */
export type JsonObject = { readonly [member: string]: unknown };

/** Deeper nesting than this is refused: functions that walk a body recursively must not run out of stack. */
const MOST_LEVELS = 64;

/** What is wrong with a body, behind the words "the body is". It quotes nothing of it. */
export class UnusableBody extends Error {}

/** A body as it came, and parsed. */
export interface ParsedBody {
  readonly text: string;
  readonly value: JsonObject;
}

/**
 * Reads the body of a notification.
 * @throws UnusableBody if it is not a JSON object in UTF-8, nested too deep, or has a number that becomes infinite
 */
export function parseBody(bytes: Buffer): ParsedBody {
  const text = bytes.toString();
  const value = isUtf8(bytes) ? jsonOf(text) : undefined; // none with a byte order mark, either
  if (!isObject(value) || Array.isArray(value)) throw new UnusableBody('not a JSON object in UTF-8');
  checkWithin(value, MOST_LEVELS);
  return { text, value };
}

/** Whether a JSON value is an object or an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

/** Canonical JSON writes null for an infinite number, so that two different bodies would be one event. */
function checkWithin(value: unknown, levels: number): void {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw new UnusableBody('not usable: a number in it is beyond 1.8e308');
  if (!isObject(value)) return;
  if (levels === 0) throw new UnusableBody(`nested deeper than ${MOST_LEVELS} levels`);
  for (const inner of Object.values(value)) checkWithin(inner, levels - 1);
}

/**
 * Where two JSON values first differ, as a JSON Pointer (RFC 6901; the empty string is the whole); undefined where they are
 * equal. The order of members does not count; every member, type and number does.
 */
export function firstDifference(left: unknown, right: unknown): string | undefined {
  if (left === right) return undefined;
  if (!isObject(left) || !isObject(right) || Array.isArray(left) !== Array.isArray(right)) return '';
  for (const name of Object.keys({ ...left, ...right })) {
    const isInBoth = Object.hasOwn(left, name) && Object.hasOwn(right, name);
    const inner = isInBoth ? firstDifference(left[name], right[name]) : '';
    if (inner !== undefined) return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}${inner}`;
  }
  return undefined;
}

/** The canonical text of a JSON value (RFC 8785): members sorted by UTF-16 code units, no spaces. */
export function canonicalJson(value: unknown): string {
  if (!isObject(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`).join(',')}}`;
}

/**
 * The identity of an event: the SHA-256 of the canonical JSON of its body without `webhook_id`. The provider sends no
 * delivery or event id, and an event is what happened, not which webhook reported it.
 * @returns 32 bytes
 */
export function digestOf(body: JsonObject): Buffer {
  const { webhook_id: _, ...event } = body;
  return hash('sha256', canonicalJson(event), 'buffer');
}
