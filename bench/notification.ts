import { keyOf, signNotification } from '../src/notification/token.ts';

/** It protects nothing. */
export const BENCH_SECRET = 'the-benchmark-secret-protects-nothing';

const key = keyOf(BENCH_SECRET);

/** Media of notifications: so many, each hit once before any is hit again, in no order that an index would like. */
const MEDIA = 500_000;
/** Prime to it. */
const STRIDE = 104_729;
const SERIES_TIME = Date.now();

/** The n-th notification of a series, with its token. Each is another event. */
export function notification(series: string, n: number): { readonly body: string; readonly token: string } {
  const body = JSON.stringify({
    event: 'media_available',
    media_id: ((n * STRIDE) % MEDIA).toString(16).padStart(8, '0'),
    webhook_id: '2yW4KmiG',
    site_id: `${series}-${Math.floor(n / MEDIA)}`,
    event_time: new Date(SERIES_TIME + n).toISOString(),
  });
  return { body, token: signNotification(body, key) };
}
