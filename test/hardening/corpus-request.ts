import { segment, tokenOf } from '../support/hs256.ts';

/** A request as a stranger builds it. */
export interface BuiltRequest {
  /** POST unless told otherwise */
  readonly method?: string;
  /** of the webhook unless told otherwise */
  readonly path?: string;
  /** whole lines, `Name: value`, in their order */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/**
 * A hostile request: what each file of `corpus/` exports as its default. It is sent to a receiver whose webhook `hook0001`
 * has a secret that its sender does not know, and it must do no harm, however large it is.
 */
export interface CorpusRequest {
  /** what it is, for the name of its test */
  readonly name: string;
  /** Builds it as large as a body limit in bytes allows; the same limit gives the same bytes. */
  build(limit: number): BuiltRequest;
  /** the status that it must be answered with, as long as its source is not throttled */
  readonly expected: number;
}

/** The members of a notification that would be genuine, were it signed. */
export const MEMBERS = {
  event: 'media_available',
  media_id: 'UUhbHm6C',
  webhook_id: 'hook0001',
  site_id: 'jsPxIVHl',
  event_time: '2023-11-14T22:30:10+00:00',
};

/** A JSON object of at most so many bytes: the members of a notification, and `filler` as often as there is room for it. */
export function filled(limit: number, before: string, filler: (n: number) => string, after: string): string {
  const start = `${JSON.stringify(MEMBERS).slice(0, -1)},${before}`;
  const pieces = [start];
  let room = limit - start.length - after.length - 1;
  for (let n = 0; ; n++) {
    const piece = filler(n);
    room -= piece.length;
    if (room < 0) break;
    pieces.push(piece);
  }
  return `${pieces.join('')}${after}}`;
}

/** The Authorization of a token over these claims, signed with a secret that nobody has stored. */
export function forged(claims: string, header = '{"alg":"HS256","typ":"JWT"}'): string {
  return `Authorization: Bearer ${tokenOf(claims, 'made up', { header })}`;
}

/** A body with a forged token for it: both are as large as the limit allows. */
export function withForgedToken(text: string): BuiltRequest {
  return { headers: [forged(text)], body: Buffer.from(text) };
}

/** Every byte of a request; Content-Length is added unless a header says how the body ends. */
export function bytesOf({ method = 'POST', path = '/webhooks/media', headers, body }: BuiltRequest): Buffer {
  const isFramed = headers.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const framing = isFramed ? [] : [`Content-Length: ${body.length}`];
  const head = [`${method} ${path} HTTP/1.1`, 'Host: receiver', ...headers, ...framing];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

export { segment };
