import { createHmac } from 'node:crypto';

/** A notification with its token, as somebody sends it. */
export interface Sent {
  readonly body: Buffer;
  readonly token: string;
  /** what was done to it, for a message */
  readonly changes: readonly string[];
}

/** The secrets with which tokens are signed, by who knows them. */
export interface Secrets {
  /** of the webhook that the notification names */
  readonly own: readonly string[];
  /** of another webhook */
  readonly other: string;
  readonly unknown: string;
}

const WEBHOOKS = ['2yW4KmiG', '7Rav0hC5'] as const;
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const SECOND = 1000;

/**
 * Makes tokens that are genuine but for a few changes, each of a kind that readers of tokens disagree about. What is changed
 * before it is signed is signed rightly most of the time: a wrong signature alone would hide everything else.
 * @param random numbers in [0, 1)
 */
export function oddTokens(random: () => number, secrets: Secrets): () => Sent {
  const upTo = (count: number) => Math.floor(random() * count);
  const oneOf = <T>(things: readonly [T, ...T[]]): T => things[upTo(things.length)] ?? things[0];
  const chance = (probability: number) => random() < probability;
  let changes: string[] = [];
  const changed = <T>(what: string, value: T): T => {
    changes.push(what);
    return value;
  };

  // Values are written by hand, as a text says more than its value: order, spaces, doubled members, numerals, escapes.

  const space = () => (chance(0.85) ? '' : oneOf([' ', '\n', '\t', '\r\n', '  ']));

  function text(value: string): string {
    const plain = JSON.stringify(value);
    if (chance(0.9) || value === '') return plain;
    const at = upTo(value.length);
    const code = value.charCodeAt(at).toString(16).padStart(4, '0');
    const escaped = chance(0.5) ? `\\u${code}` : `\\u${code.toUpperCase()}`;
    const [before, after] = [value.slice(0, at), value.slice(at + 1)];
    return `${JSON.stringify(before).slice(0, -1)}${escaped}${JSON.stringify(after).slice(1)}`;
  }

  function numeral(value: number): string {
    if (value === 0) return oneOf(['0', '-0', '0.0', '0e5', '-0.0E-0']);
    const plain = JSON.stringify(value);
    if (!Number.isInteger(value) || plain.includes('e')) return plain;
    return oneOf([plain, plain, plain, `${plain}.0`, `${plain}e0`, `${plain}00E-2`, `${value / 10}e+1`]);
  }

  function writing(value: unknown, name = ''): string {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number') return numeral(value);
    if (typeof value !== 'object' || value === null) return String(value);
    const inner = Array.isArray(value)
      ? value.map((one) => writing(one))
      : Object.entries(value).map(
          ([member, one]) => `${text(member)}${space()}:${space()}${writing(one, member)}`,
        );
    if (!Array.isArray(value)) {
      if (chance(0.2)) inner.sort(() => random() - 0.5);
      if (inner.length > 0 && chance(name === '' ? 0.02 : 0.1)) {
        const [first = ''] = inner;
        const doubled = chance(0.5) ? first : first.replace(/"[^"]*"$/, '"other"');
        inner.splice(upTo(inner.length + 1), 0, changed('a member twice', doubled));
      }
    }
    const [open, close] = Array.isArray(value) ? '[]' : '{}';
    return `${open}${space()}${inner.join(`${space()},${space()}`)}${space()}${close}`;
  }

  function value(): unknown {
    const any: readonly [() => unknown, ...(() => unknown)[]] = [
      () => oneOf([0, 1, -1, 10, 1.5, 1_700_000_000, 2 ** 53, 0.1, 1e21]),
      () => oneOf(['', 'a', 'ä', '\u2028', '\u{1F600}', '"\\/', '1', 'HS256', '\ud800']),
      () => oneOf([true, false, null]),
      () => oneOf<unknown>([[], [0], ['a', 0], [[]], {}, { a: 0 }, { 1: 'x', a: null }]),
    ];
    return oneOf(any)();
  }

  function timeClaim(): [string, unknown] {
    const now = Math.floor(Date.now() / SECOND);
    const times = [0, 1, 1_000_000_000, now - 86_400, now + 86_400, 99_999_999_999, 1e300] as const;
    const name = oneOf(['exp', 'nbf', 'iat']);
    return [name, chance(0.8) ? oneOf(times) : oneOf(['2020-01-01', null, '1', true, {}])];
  }

  function members(): [string, unknown][] {
    const all: [string, unknown][] = [
      ['event', 'media_available'],
      ['media_id', oneOf(['UUhbHm6C', 'YijbmYHJ'])],
      ['webhook_id', WEBHOOKS[chance(0.95) ? 0 : 1]],
      ['site_id', 'jsPxIVHl'],
      ['event_time', '2023-11-14T22:30:10+00:00'],
    ];
    if (chance(0.3))
      all.push([oneOf(['a', 'number', '__proto__', 'constructor', 'alg', 'crit', '']), value()]);
    if (chance(0.1)) all.push(timeClaim());
    return all;
  }

  /** The same members but for one. */
  function others(given: readonly [string, unknown][]): [string, unknown][] {
    const all = given.map(([name, one]): [string, unknown] => [name, one]);
    const at = upTo(all.length);
    const [name = '', one] = all[at] ?? [];
    const put = (newName: string, newOne: unknown) => void all.splice(at, 1, [newName, newOne]);
    const ways = [
      () => void all.splice(at, 1),
      () => void all.push(timeClaim()),
      () => void all.push([oneOf(['a', 'aud', '__proto__', 'jti', 'b']), value()]),
      () => put(name, value()),
      () => put(`${name} `, one),
      () => put(name, typeof one === 'number' ? -one : [one]),
      () => put(name, typeof one === 'number' ? String(one) : { 0: one }),
      () => put(name, typeof one === 'string' ? one.toLowerCase() : null),
    ] as const;
    oneOf(ways)();
    return all;
  }

  /** Parsed from entries, as assigning a member named __proto__ would not make one. */
  const object = (entries: readonly [string, unknown][]) => Object.fromEntries(entries);

  /** A text that is no object, or not JSON, or JSON that readers take differently. */
  function oddText(plain: string): string {
    const ways = [
      () => `[${plain}]`,
      () => JSON.stringify(plain),
      () => oneOf(['null', '1', '""', '[]', '{}', 'true', '', ' ']),
      () => `\ufeff${plain}`,
      () => `${plain}${oneOf(['\0', ',', '}', ' x', '\u00a0', plain])}`,
      () => plain.replace('{', '{"big":12345678901234567890,'),
      () => plain.replace('{', '{"big":1e400,'),
      () =>
        plain.replace(
          '{',
          `{"odd":${oneOf(['01', '+1', '.5', '1.', '0x1', 'NaN', '1e', "'a'", '"\t"', '"\\x41"'])},`,
        ),
      () => plain.replace('{', `{"deep":${'['.repeat(70)}${']'.repeat(70)},`),
      () => plain.replaceAll('"', "'"),
      () => plain.replace('}', ',}'),
      () => plain.slice(0, upTo(plain.length)),
    ] as const;
    return oneOf(ways)();
  }

  function header(): string {
    const plain = '{"alg":"HS256","typ":"JWT"}';
    if (chance(0.55)) return plain;
    const ways = [
      () => '{"typ":"JWT","alg":"HS256"}',
      () => '{"alg":"HS256"}',
      () => ` {${space()}"alg" :${space()}"HS256" }\n`,
      () => `{"alg":${text('HS256')},${text('typ')}:"JWT"}`,
      () => '{"\\u0061lg":"\\u0048S256","typ":"JWT"}',
      () => `{"alg":"HS256","typ":${oneOf(['"jwt"', '"JOSE"', 'null', '1', '"JWT "', '["JWT"]'])}}`,
      () => `{"alg":"HS256","kid":${JSON.stringify(value())},"typ":"JWT"}`,
      () =>
        `{"alg":${oneOf(['"hs256"', '"Hs256"', '"HS256 "', '"HS384"', '"HS512"', '"none"', '"None"', '"RS256"', '"ES256"', '""'])},"typ":"JWT"}`,
      () => `{"alg":${oneOf(['null', '["HS256"]', '{"HS256":1}', '256', 'true'])},"typ":"JWT"}`,
      () => `{"alg":"HS256","crit":${oneOf(['["exp"]', '[]', 'null', '["b64"]', '0'])},"typ":"JWT"}`,
      () => `{"alg":"HS256","b64":${oneOf(['false', 'true'])},"typ":"JWT"}`,
      () => `{"alg":"${oneOf(['none', 'HS256'])}","alg":"${oneOf(['HS256', 'none'])}","typ":"JWT"}`,
      () => '{"alg":"HS256","typ":"JWT","typ":"JWT"}',
      () => '{"alg":"HS256","typ":"JWT","number":12345678901234567890}',
      () => '{"typ":"JWT"}',
      () => '{"ALG":"HS256","typ":"JWT"}',
      () => '{"__proto__":{"alg":"HS256"},"typ":"JWT"}',
      () => `{"alg":"HS256","typ":"JWT","name":"${oneOf(['ä', '\u{1F600}', '\u2028'])}"}`,
      () => oddText(plain),
    ] as const;
    return changed('header', oneOf(ways)());
  }

  /** A segment that says the same, or nearly: readers of base64 differ in what they overlook. */
  function recoded(part: string): string {
    const last = BASE64URL.indexOf(part.at(-1) ?? '');
    const at = upTo(part.length + 1);
    const into = (more: string) => part.slice(0, at) + more + part.slice(at);
    const ways = [
      () => `${part}${'='.repeat(1 + upTo(3))}`,
      () => into(oneOf([' ', '\n', '\t', '\r', '\0', '\u00a0'])),
      () => `${oneOf([' ', '\n'])}${part}`,
      () => part.replaceAll('-', '+').replaceAll('_', '/'),
      () => part.slice(0, -1) + (BASE64URL[last ^ 1] ?? ''),
      () => part.slice(0, -1) + (BASE64URL[last ^ 2] ?? ''),
      () => into(oneOf(['=', '+', '/', '*', '%', 'é', '\u0141', ','])),
      () => into(oneOf([...BASE64URL] as [string, ...string[]])),
      () => part.slice(0, -1),
      () => Buffer.from(part).toString('base64url'),
      () => Buffer.from(part, 'base64url').toString('base64'),
      () => part.slice(0, at) + (part[at] ?? '').toUpperCase() + part.slice(at + 1),
      () => '',
    ] as const;
    return oneOf(ways)();
  }

  const encoded = (given: string | Buffer) => {
    const part = Buffer.from(given).toString('base64url');
    return chance(0.97) ? part : changed('a segment recoded, then signed', recoded(part));
  };

  function signature(input: string): string {
    const { own, other, unknown } = secrets;
    const [first = '', ...further] = own;
    const known = chance(0.8) ? first : (further[upTo(further.length)] ?? first);
    const secret = chance(0.95)
      ? known
      : changed('another key', oneOf([other, unknown, first.toUpperCase(), `${first}\n`, ' ']));
    const hash = chance(0.98) ? 'sha256' : changed('another hash', oneOf(['sha384', 'sha512', 'sha1']));
    const made = createHmac(hash, secret).update(input);
    return made.digest('base64url');
  }

  /** A change of a signed token, under which the signature is rarely right any longer. */
  function tampered(token: string): string {
    const parts = token.split('.');
    const at = upTo(parts.length);
    const place = upTo(token.length + 1);
    const ways = [
      () => parts.with(at, recoded(parts[at] ?? '')).join('.'),
      () => parts.with(at, parts[upTo(parts.length)] ?? '').join('.'),
      () => parts.toReversed().join('.'),
      () => `${token}.${parts[at]}`,
      () => parts.toSpliced(at, 1).join('.'),
      () => token.slice(0, place),
      () => `${token.slice(0, place)}.${token.slice(place)}`,
      () =>
        token.slice(0, place) + oneOf(['A', ' ', '\n', '.', '=', '\0', '\u0100']) + token.slice(place + 1),
      () => `${token}${oneOf(['\n', ' ', '.', '=', '\0'])}`,
      () => token.toLowerCase(),
      () => `${token}${token}`,
    ] as const;
    return changed('tampered', oneOf(ways)());
  }

  /** A change of a body's bytes, perhaps to something that is not even UTF-8. */
  function damaged(given: Uint8Array): Buffer<ArrayBuffer> {
    const bytes = Buffer.from(given);
    if (bytes.length === 0) return bytes;
    const at = upTo(bytes.length);
    bytes[at] = chance(0.5) ? upTo(256) : (bytes[at] ?? 0) ^ 0x20;
    return changed('body damaged', bytes);
  }

  return () => {
    changes = [];
    const said = members();
    const bodyText = chance(0.7)
      ? JSON.stringify(object(said))
      : changed('body written otherwise', writing(object(said)));
    let claims = bodyText;
    if (chance(0.25)) claims = changed('claims written otherwise', writing(object(said)));
    else if (chance(0.2)) claims = changed('other claims', writing(object(others(said))));
    let body = Buffer.from(bodyText);
    if (chance(0.03)) {
      const odd = oddText(bodyText);
      if (chance(0.7)) claims = changed('odd claims', odd);
      if (chance(0.7)) body = changed('odd body', Buffer.from(odd));
    }
    let said64: string | Buffer = claims;
    if (chance(0.02)) {
      const bytes = damaged(Buffer.from(claims));
      said64 = bytes;
      if (chance(0.7)) body = bytes;
    }
    const input = `${encoded(header())}.${encoded(said64)}`;
    let token = `${input}.${signature(input)}`;
    if (chance(0.15)) token = tampered(token);
    if (chance(0.03)) body = damaged(body);
    return { body, token, changes };
  };
}
