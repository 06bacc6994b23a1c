import { keyOf, signNotification } from '../../src/notification/token.ts';

export const SECRET = 'a-secret-of-at-least-thirty-two-bytes';

/** The body of a genuine notification, each number another event: of another media, unless one is given. */
export function bodyOf(number: number, media = number, event = 'media_available'): string {
  const event_time = new Date(Date.UTC(2026, 0, 1) + Math.floor(number / 10) * 1000)
    .toISOString()
    .replace('.000Z', '+00:00');
  return JSON.stringify({
    event,
    media_id: `media${media}`,
    webhook_id: 'hook0001',
    site_id: 'site0001',
    event_time,
  });
}

/** Sends a notification as the provider does. */
export function deliver(url: string, body: string, secret = SECRET): Promise<Response> {
  return fetch(`${url}/webhooks/media`, {
    method: 'POST',
    headers: { authorization: `Bearer ${signNotification(body, keyOf(secret))}` },
    body,
  });
}
