import { createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { anyCharacter } from '../../support/any-character.ts';
import { hmacOf, segment, tokenOf } from '../../support/hs256.ts';
import { jsonObject } from '../../support/json-values.ts';
import { bodyOf, SECRET } from '../../support/notifications.ts';

/** A request as bytes, and what is allowed to come of it. */
export interface FuzzedRequest {
  readonly bytes: Buffer;
  /** signed with the secret, by a check of its own: only then may the webhook say 2xx */
  readonly isSigned: boolean;
  /** nothing is wrong with it: it must be taken */
  readonly isGenuine: boolean;
  /** asks for the health or readiness, which say 2xx to anybody */
  readonly isProbe: boolean;
  /** more or fewer bytes follow than are announced: the connection is of no use after it */
  readonly isIllFramed: boolean;
}

const PATH = '/webhooks/media';

/** Mostly what gets further in, and now and then anything. */
function mostly<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, weight = 6): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

const method = mostly(
  fc.constant('POST'),
  fc.constantFrom(
    'GET',
    'HEAD',
    'PUT',
    'DELETE',
    'OPTIONS',
    'PATCH',
    'TRACE',
    'PROPFIND',
    'post',
    'BREW',
    '',
  ),
  9,
);

const path = mostly(
  fc.constant(PATH),
  fc.oneof(
    fc.constantFrom(
      '/',
      '/healthz',
      '/readyz',
      `${PATH}/`,
      '/WEBHOOKS/media',
      `${PATH}?a=b&a[]=c`,
      `${PATH}#x`,
      '*',
    ),
    fc.constantFrom(
      '//webhooks/media',
      '/webhooks%2fmedia',
      '/webhooks/media%00',
      '/../webhooks/media',
      `http://x${PATH}`,
    ),
    fc.webPath(),
    fc.string({ unit: 'binary-ascii', maxLength: 20 }),
  ),
  9,
);

const text = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: 'binary-ascii', maxLength: 30 }),
  fc.constantFrom(
    'gzip',
    'br',
    'gzip, br',
    'identity',
    'chunked',
    '100-continue',
    'close',
    'keep-alive',
    'a'.repeat(5000),
  ),
  fc.constantFrom(
    'application/json',
    'text/plain; charset=utf-16',
    'multipart/form-data',
    '127.0.0.1, ::1',
    'bytes=0-1',
  ),
);

const header = fc.tuple(
  fc.oneof(
    fc.constantFrom(
      'Content-Type',
      'Content-Encoding',
      'Expect',
      'X-Forwarded-For',
      'Cookie',
      'Range',
      'Accept-Encoding',
    ),
    fc.constantFrom(
      'Connection',
      'Upgrade',
      'TE',
      'Trailer',
      'If-None-Match',
      'X-Request-Id',
      'Host',
      '__proto__',
    ),
    fc.string({ minLength: 1, maxLength: 10 }),
  ),
  text,
);

const genuineBody = fc.nat(9_999_999).map(bodyOf);

/** A text with one character changed, taken away or put in. */
function spoilt(whole: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(whole, fc.nat(), fc.constantFrom('', '\0', '"', '}', '\\', '\ud800', 'é', '1', '{"a":'))
    .map(([value, at, put]) => {
      const index = at % (value.length + 1);
      return value.slice(0, index) + put + value.slice(index + (at % 3));
    });
}

const jsonText = jsonObject.map((value) => JSON.stringify(value));
const body = fc.oneof(
  { weight: 4, arbitrary: genuineBody },
  { weight: 2, arbitrary: spoilt(genuineBody) },
  { weight: 2, arbitrary: jsonText },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 200 }) },
  { weight: 1, arbitrary: fc.nat(3000).map((depth) => '[{"a":'.repeat(depth)) },
);

const joseHeader = mostly(
  fc.constant('{"alg":"HS256","typ":"JWT"}'),
  fc.oneof(
    jsonText,
    fc.constantFrom('{"alg":"none"}', '{"alg":"HS512"}', '{"alg":"HS256","crit":[]}', '{}', 'null'),
  ),
);

/** A token for a body: right, or wrong in one of many ways. */
function tokenFor(sent: string): fc.Arbitrary<string> {
  const claims = mostly(
    fc.constant(sent),
    fc.oneof(jsonText, spoilt(fc.constant(sent)), fc.constant(bodyOf(1))),
  );
  const secret = mostly(fc.constant(SECRET), fc.constantFrom('', 'other', SECRET.toUpperCase()));
  const whole = fc.tuple(joseHeader, claims, secret).map(([head, said, key]) => {
    const input = `${segment(head)}.${segment(said)}`;
    return `${input}.${hmacOf(input, key)}`;
  });
  const broken = fc.oneof(
    spoilt(whole),
    whole.map((token) => token.replace(/[^.]*$/, '')),
    fc.base64String(),
  );
  return mostly(whole, broken, 4);
}

const scheme = mostly(
  fc.constant('Bearer '),
  fc.constantFrom('', 'Basic ', 'bearer  ', 'Bearer', 'Bearer\t', 'Bearer ,'),
  9,
);
type Framing = 'length' | 'chunked' | 'none' | 'short' | 'long' | 'both';
const framing = mostly<Framing>(
  fc.constantFrom<Framing>('length', 'length', 'length', 'chunked'),
  fc.constantFrom<Framing>('none', 'short', 'long', 'both'),
  40,
);

/** Whether a token stands for a body, without any of the code under test. */
function isSignedFor(token: string, sent: Buffer): boolean {
  const [head = '', said = '', signature = '', ...rest] = token.split('.');
  if (
    rest.length > 0 ||
    createHmac('sha256', SECRET).update(`${head}.${said}`).digest('base64url') !== signature
  )
    return false;
  try {
    const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
    const alg = (read(head) as { alg?: unknown } | null)?.alg;
    return alg === 'HS256' && isDeepStrictEqual(read(said), JSON.parse(sent.toString()));
  } catch {
    return false;
  }
}

interface Parts {
  readonly line: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly authorizations: readonly string[];
  readonly sent: Buffer;
  readonly framed: Framing;
}

function assemble({ line, headers, authorizations, sent, framed }: Parts): Buffer {
  const length = { length: 0, short: -5, long: 7, both: 0 }[framed as 'length'];
  const lines = [line, 'Host: fuzz', ...headers.map(([name, value]) => `${name}: ${value}`)];
  lines.push(...authorizations.map((value) => `Authorization: ${value}`));
  if (length !== undefined) lines.push(`Content-Length: ${Math.max(0, sent.length + length)}`);
  if (framed === 'chunked' || framed === 'both') lines.push('Transfer-Encoding: chunked');
  const isChunked = framed === 'chunked' || framed === 'both';
  const chunk = [Buffer.from(`${sent.length.toString(16)}\r\n`), sent, Buffer.from('\r\n0\r\n\r\n')];
  const framedBody = isChunked && sent.length > 0 ? chunk : isChunked ? [Buffer.from('0\r\n\r\n')] : [sent];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), ...framedBody]);
}

const genuine: fc.Arbitrary<FuzzedRequest> = genuineBody.map((sent) => ({
  bytes: assemble({
    line: `POST ${PATH} HTTP/1.1`,
    headers: [],
    authorizations: [`Bearer ${tokenOf(sent, SECRET)}`],
    sent: Buffer.from(sent),
    framed: 'length',
  }),
  isSigned: true,
  isGenuine: true,
  isProbe: false,
  isIllFramed: false,
}));

const any: fc.Arbitrary<FuzzedRequest> = body.chain((sent) => {
  const tokens = fc.array(fc.tuple(scheme, tokenFor(sent)), { maxLength: 2 });
  const one = fc.tuple(scheme, tokenFor(sent)).map((token) => [token]);
  return fc
    .record({
      method,
      path,
      headers: fc.array(header, { maxLength: 3 }),
      tokens: mostly(one, tokens),
      framing,
    })
    .map(({ method: verb, path: to, headers, tokens: given, framing: framed }) => {
      const bytes = Buffer.from(sent);
      const authorizations = given.map(([kind, token]) => kind + token);
      const line = `${verb} ${to} HTTP/1.1`;
      return {
        bytes: assemble({ line, headers, authorizations, sent: bytes, framed }),
        isSigned: given.length === 1 && isSignedFor(given[0]?.[1] ?? '', bytes),
        isGenuine: false,
        isProbe: /\/(healthz|readyz)/i.test(line),
        // A header may end the headers early, or announce another length.
        isIllFramed:
          framed !== 'length' && framed !== 'chunked'
            ? true
            : headers.length > 0 || verb !== 'POST' || to !== PATH,
      };
    });
});

/** Requests of all kinds, some of them genuine. */
export const fuzzedRequest: fc.Arbitrary<FuzzedRequest> = mostly(any, genuine, 9);
