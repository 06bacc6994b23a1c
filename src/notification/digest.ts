import { createHash, hash } from 'node:crypto';
import { canonicalJson, type JsonObject } from './json.ts';

/** From so many characters on a text is not put together with the others: garbage of large ones is most of what a forgery costs. */
const LONG = 4096;

/**
 * The identity of an event: the SHA-256 of the canonical JSON of its body without `webhook_id`. The provider sends no
 * delivery or event id, and an event is what happened, not which webhook reported it.
 * @returns 32 bytes
 */
export function digestOf(body: JsonObject): Buffer {
  const { webhook_id: _, ...event } = body;
  const isLong = Object.values(event).some((value) => typeof value === 'string' && value.length >= LONG);
  if (!isLong) return hash('sha256', canonicalJson(event), 'buffer');
  const sum = createHash('sha256').update('{');
  for (const [index, name] of Object.keys(event).sort().entries())
    sum.update(`${index > 0 ? ',' : ''}${canonicalJson(name)}:`).update(`${canonicalJson(event[name])}`);
  return sum.update('}').digest();
}
