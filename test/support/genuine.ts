import type { RequestListener, Server } from 'node:http';
import request, { type Test } from 'supertest';
import { tokenOf } from './hs256.ts';

export const WEBHOOK = '2yW4KmiG';
export const SECRET = 'a-secret-of-at-least-thirty-two-bytes';
export const PATH = '/webhooks/media';

/** The members of a genuine notification, some of them changed; undefined takes a member away. */
export function notification(members: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    event: 'media_available',
    media_id: 'UUhbHm6C',
    webhook_id: WEBHOOK,
    site_id: 'jsPxIVHl',
    event_time: '2023-11-14T22:30:10+00:00',
    ...members,
  };
}

/** Sends a text with an Authorization header, or without one. */
export function send(app: RequestListener | Server, body: string | Buffer, authorization?: string): Test {
  // superagent would write a Buffer out as JSON.
  const type = typeof body === 'string' ? 'application/json' : 'application/octet-stream';
  const test = request(app).post(PATH).set('Content-Type', type);
  if (authorization !== undefined) test.set('Authorization', authorization);
  return test.send(body);
}

/** Sends a notification as the provider does, with a token made by hand. */
export function deliver(app: RequestListener | Server, body: object | string, secret: string = SECRET): Test {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return send(app, text, `Bearer ${tokenOf(text, secret)}`);
}

/** Sends a body with a token that was made for other claims, or by somebody else. */
export function sendWithToken(app: RequestListener | Server, body: object, token: string): Test {
  return send(app, JSON.stringify(body), `Bearer ${token}`);
}
