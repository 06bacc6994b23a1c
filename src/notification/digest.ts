import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject } from './json.ts';

/**
 * The identity of an event: the SHA-256 of the canonical JSON of its body without `webhook_id`. The provider sends no
 * delivery or event id, and an event is what happened, not which webhook reported it.
 * @returns 32 bytes
 */
export function digestOf(body: JsonObject): Buffer {
  const { webhook_id: _, ...event } = body;
  return hash('sha256', canonicalJson(event), 'buffer');
}
