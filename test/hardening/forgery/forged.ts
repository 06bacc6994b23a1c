import { hmacOf, segment, tokenOf } from '../../support/hs256.ts';

/** What a forger knows and does not know. SECRET and OTHER are live, RETIRED was live once. */
export const WEBHOOK = 'hook0001';
export const OTHER_WEBHOOK = 'hook0002';
export const SECRET = 'the-live-secret-of-webhook-hook0001';
export const OTHER = 'the-live-secret-of-webhook-hook0002';
export const RETIRED = 'a-secret-of-hook0001-that-was-retired';
export const PATH = '/webhooks/media';

/** A request of the table and the answer that it must get. */
export interface Case {
  /** what it is, for the name of its test */
  readonly name: string;
  readonly status: number;
  /** every byte of it */
  readonly request: Buffer;
}

export const members = {
  event: 'media_available',
  media_id: 'UUhbHm6C',
  webhook_id: WEBHOOK,
  site_id: 'jsPxIVHl',
  event_time: '2023-11-14T22:30:10+00:00',
};
export const text = JSON.stringify(members);
export const genuine = tokenOf(text, SECRET);

/** The genuine body with some members changed, as text. */
export function changed(more: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...members, ...more });
}

/** A whole request: POST with these headers, closed after it. */
export function post(headers: readonly string[], body: string | Buffer, line = `POST ${PATH}`): Buffer {
  const bytes = Buffer.from(body);
  const head = [`${line} HTTP/1.1`, 'Host: receiver', 'Connection: close', ...headers];
  const framing = headers.some((header) => /^(transfer-encoding|content-length)/i.test(header));
  if (!framing) head.push(`Content-Length: ${bytes.length}`);
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}

/** A body sent with a token. */
export function sent(name: string, token: string, body: string | Buffer = text, status = 401): Case {
  return { name, status, request: post([`Authorization: Bearer ${token}`], body) };
}

/** A token whose header is this and whose signature is right for it. */
export function signed(header: object | string, claims: string = text, secret: string = SECRET): string {
  return tokenOf(claims, secret, { header });
}

/** A token of three segments as they are given. */
export function assembled(header: object | string, claims: string, signature: string): string {
  const head = typeof header === 'string' ? header : JSON.stringify(header);
  return `${segment(head)}.${segment(claims)}.${signature}`;
}

/** A body whose token says the same and is rightly signed. */
export function rightlySigned(name: string, body: string, status: number, secret: string = SECRET): Case {
  return sent(name, tokenOf(body, secret), body, status);
}

export { hmacOf, segment, tokenOf };
