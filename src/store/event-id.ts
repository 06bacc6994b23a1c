declare const brand: unique symbol;

/** The name of an event, the same in every database and process: its time and the start of its digest. */
export type EventId = string & { readonly [brand]: 'EventId' };

const PREFIX_BYTES = 10;

/**
 * @param eventTime milliseconds since the epoch; 0 if the notification has none
 * @param digest the event's 32-byte digest, or its hex
 */
export function eventId(eventTime: number, digest: Uint8Array | string): EventId {
  const prefix =
    typeof digest === 'string'
      ? digest.slice(0, 2 * PREFIX_BYTES)
      : Buffer.from(digest.buffer, digest.byteOffset, PREFIX_BYTES).toString('hex');
  return `${eventTime.toString(36)}-${prefix}` as EventId;
}

/** The time and the range of digests that an id stands for; undefined if it is not an event id. */
export function parseEventId(id: string): { eventTime: number; first: Buffer; last: Buffer } | undefined {
  const match = /^(-?[0-9a-z]{1,11})-([0-9a-f]{20})$/.exec(id);
  if (!match) return undefined;
  const [, time = '', hex = ''] = match;
  const prefix = Buffer.from(hex, 'hex');
  const filled = (byte: number) => Buffer.concat([prefix, Buffer.alloc(32 - PREFIX_BYTES, byte)]);
  return { eventTime: Number.parseInt(time, 36), first: filled(0), last: filled(0xff) };
}
