import { createHash, hash } from 'node:crypto';
import { canonicalJson, type JsonObject } from './json.ts';

/** From so many characters on the text is not put together: garbage of large ones is most of what a forgery costs. */
const LARGE = 4096;

/**
 * The identity of an event: the SHA-256 of the canonical JSON of its body without `webhook_id`. The provider sends no
 * delivery or event id, and an event is what happened, not which webhook reported it.
 * @returns 32 bytes
 */
export function digestOf(body: JsonObject): Buffer {
  const { webhook_id: _, ...event } = body;
  const members = Object.keys(event)
    .sort()
    .map((name) => [`${JSON.stringify(name)}:`, canonicalJson(event[name])] as const);
  const length = members.reduce((sum, [, value]) => sum + value.length, 0);
  if (length < LARGE)
    return hash('sha256', `{${members.map(([name, value]) => name + value).join(',')}}`, 'buffer');
  const sum = createHash('sha256');
  for (const [index, [name, value]] of members.entries())
    sum.update(`${index > 0 ? ',' : '{'}${name}`).update(value);
  return sum.update('}').digest();
}
