import { keyOf, signNotification } from '../src/notification/token.ts';
import { mediaId, mediaNumber } from './fill.ts';
import { BENCH_SECRET } from './secret.ts';

/**
 * Distinct, genuine requests as bytes. They are of media in no order, as ids are, and the same that a filled database has:
 * each look-up lands somewhere else.
 * @param series what makes these notifications others than those of any other load
 */
export function signedRequests(count: number, series: string): Buffer[] {
  const key = keyOf(BENCH_SECRET);
  const now = Math.floor(Date.now() / 1000);
  return Array.from({ length: count }, (_, n) => {
    const time = new Date((now + Math.floor(n / 1000)) * 1000).toISOString();
    const body = JSON.stringify({
      event: 'media_available',
      media_id: mediaId(mediaNumber(n)),
      webhook_id: '2yW4KmiG',
      site_id: series,
      event_time: time.replace('.000Z', '+00:00'),
    });
    return Buffer.from(
      `POST /webhooks/media HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n` +
        `Authorization: Bearer ${signNotification(body, key)}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
}
