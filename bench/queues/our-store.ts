import { systemClock } from '../../src/base/clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { toVerified } from '../../src/store/verified.ts';
import { mediaId } from '../fill.ts';
import { BENCH_SECRETS_KEY } from '../secret.ts';
import { addAll } from './queue.ts';

/** Opens a database as the service does. */
export function openOurs(url: string): Promise<EventStore> {
  return openStore({ url, clock: systemClock, secretsKey: BENCH_SECRETS_KEY });
}

/**
 * How many events are handled, as the store keeps count of them, up to a second late. To count the events themselves would take
 * a minute for ten million.
 */
export async function handledIn(store: EventStore): Promise<number> {
  const { tallies } = await store.overview();
  return tallies.reduce((sum, { status, events }) => sum + (status === 'handled' ? events : 0), 0);
}

/** Records an event of a media, as the receiver does. */
export async function recordOne(store: EventStore, media: number, time: number): Promise<void> {
  const body = {
    event: 'media_updated',
    media_id: mediaId(media),
    webhook_id: 'hook0001',
    site_id: 'site0001',
    event_time: new Date(time).toISOString(),
  };
  await store.record(toVerified(body, JSON.stringify(body)));
}

/** Records so many events, of so many media in turn. */
export async function recordAll(store: EventStore, events: number, resources: number): Promise<void> {
  const now = Date.now();
  await addAll(events, (numbers) =>
    Promise.all(numbers.map((n) => recordOne(store, n % resources, now + n))),
  );
}
