import { createHmac } from 'node:crypto';

const HASHES = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' } as const;

export interface TokenOptions {
  /** the whole header, as an object or as its JSON text */
  readonly header?: object | string;
  /** what it is really signed with, whatever the header says */
  readonly hmac?: keyof typeof HASHES;
}

/** Text as a segment of a token. */
export function segment(text: string | Buffer): string {
  return Buffer.from(text).toString('base64url');
}

/** The signature of what stands before it in a token. */
export function hmacOf(input: string, secret: string, hmac: keyof typeof HASHES = 'HS256'): string {
  return createHmac(HASHES[hmac], secret).update(input, 'utf8').digest('base64url');
}

/** A token put together by hand, with nothing but Node's crypto. */
export function tokenOf(claims: string | Buffer, secret: string, options: TokenOptions = {}): string {
  const { header = { alg: 'HS256', typ: 'JWT' }, hmac = 'HS256' } = options;
  const input = `${segment(typeof header === 'string' ? header : JSON.stringify(header))}.${segment(claims)}`;
  return `${input}.${hmacOf(input, secret, hmac)}`;
}
