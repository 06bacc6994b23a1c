import type { JsonObject } from '../../notification/json.ts';
import { keyOf, signNotification } from '../../notification/token.ts';
import type { Random } from '../random.ts';
import type { SpoilingFault } from './delivery-faults.ts';

/** A body and the token that goes with it. */
export interface SignedText {
  readonly body: string;
  readonly token: string;
}

/** The members that route a notification to its secret, or that it would be refused for at once. */
const KEPT = new Set(['event', 'webhook_id', 'site_id', 'event_time']);

/** The body and token that a correct provider sends. */
export function genuine(notification: JsonObject, secret: string): SignedText {
  const body = JSON.stringify(notification);
  return { body, token: signNotification(body, keyOf(secret)) };
}

/** A body and token that a receiver must refuse. A careless receiver accepts each of these faults. */
export function spoiled(
  fault: SpoilingFault,
  notification: JsonObject,
  secret: string,
  random: Random,
): SignedText {
  const body = JSON.stringify(notification);
  switch (fault) {
    case 'tamper':
      return {
        body: JSON.stringify(withOtherIds(notification, random)),
        token: genuine(notification, secret).token,
      };
    case 'forge':
      return genuine(withOtherIds(notification, random), random.id(48));
    case 'alg_none':
      return { body, token: `${base64url('{"alg":"none","typ":"JWT"}')}.${base64url(body)}.` };
    case 'wrong_secret':
      return { body, token: signNotification(body, keyOf(random.id(48))) };
  }
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** The same notification with other ids; with one more member if it has no ids. */
function withOtherIds(notification: JsonObject, random: Random): JsonObject {
  const entries = Object.entries(notification);
  const named = entries.some(([name, value]) => !KEPT.has(name) && typeof value === 'string');
  if (!named) return { ...notification, note: random.id(8) };
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name,
      KEPT.has(name) || typeof value !== 'string' ? value : random.id(8),
    ]),
  );
}
