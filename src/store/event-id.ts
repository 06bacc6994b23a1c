declare const brand: unique symbol;

/** The name of an event, the same in every database and process: its time and the start of its digest. */
export type EventId = string & { readonly [brand]: 'EventId' };

/**
 * @param eventTime milliseconds since the epoch; 0 if the notification has none
 * @param digest the event's 32-byte digest
 */
export function eventId(eventTime: number, digest: Uint8Array): EventId {
  return `${eventTime.toString(36)}-${Buffer.from(digest).toString('hex', 0, 10)}` as EventId;
}

/** Whether a text has the form of an event's id. */
export function isEventId(text: string): text is EventId {
  return /^-?[0-9a-z]{1,11}-[0-9a-f]{20}$/.test(text);
}
