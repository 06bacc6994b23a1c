import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decode, outlineOf, parseJsonText } from '../../src/notification/json.ts';
import { claimsOf, inspectToken, keyOf, signerOf, unsigned } from '../../src/notification/token.ts';
import { label } from '../../src/store/verified.ts';
import { rawConnection } from '../support/raw-http.ts';
import { runService } from '../support/running-service.ts';

/** Characters of the smallest of three sizes. */
const SIZE = 2 ** 18;
/** What is linear takes four times as long for four times as much; what is quadratic sixteen times. */
const MOST = 9;
/** A millisecond more or less is the machine's, not the reader's. */
const NOISE_MS = 4;

function processorMs(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The least of some: other work on the machine makes it more, nothing makes it less. */
function least(times: number, run: () => unknown): number {
  return Math.min(...Array.from({ length: times }, () => processorMs(run)));
}

const pieces = [
  ...'0',
  '1',
  '10',
  '01',
  '\\',
  '\\\\',
  '"',
  '\\"',
  '\\u0061',
  'a',
  '~',
  '/',
  '.',
  '-',
  '_',
  ' ',
  ',',
  ':',
  '{',
  '}',
  '[',
  ']',
  '1,',
  '"a",',
  '"a":1,',
  '{},',
  '[],',
  '1e5,',
  '0.1,',
  'é',
  '=',
  '%2F',
  '&',
] as const;
const start = fc.constantFrom(
  '',
  '{"n":',
  '{"n":1',
  '{"n":0.',
  '{"n":1e',
  '{"n":"',
  '{"n":[',
  '{"',
  '{"n":[1,',
  '{"webhook_id":"',
  'eyJhbGciOiJIUzI1NiJ9.',
);
const end = fc.constantFrom('', '1}', '"}', ']}', '":1}', '1]}', `.${'a'.repeat(43)}`, 'x', ' x');
const shape = fc.record({
  start,
  unit: fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 3 }).map((all) => all.join('')),
  end,
});
/** Shapes that have been trouble: what looks back over a run for each of its characters. */
const KNOWN: [{ start: string; unit: string; end: string }][] = [
  [{ start: '{"n":1', unit: '0', end: '1}' }],
  [{ start: '{"n":0.', unit: '0', end: '1}' }],
  [{ start: '{"n":"', unit: '\\\\', end: '"}' }],
  [{ start: '{"', unit: '~/', end: '":1}' }],
  [{ start: '', unit: ' ', end: ' x' }],
];
const sized = (
  { start: first, unit, end: last }: { start: string; unit: string; end: string },
  size: number,
) => first + unit.repeat(Math.ceil(size / unit.length)) + last;

function quietly(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
}

const key = keyOf('a-secret-of-at-least-thirty-two-bytes');
/** Everything that sees what strangers sent, before or after its signature is looked at. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'the outline of a body': (text) => outlineOf(Buffer.from(text)),
  'a body as a whole': parseJsonText,
  'UTF-8': (text) => decode(Buffer.from(text)),
  'the signature of a token': (text) => signerOf(text, [key]),
  'the claims of a token': claimsOf,
  'the reason of a refusal': (text) => unsigned(text, [key]),
  'a whole token': (text) => inspectToken(text, {}),
  'the claims within a token': (text) =>
    inspectToken(`eyJhbGciOiJIUzI1NiJ9.${Buffer.from(text).toString('base64url')}.${'a'.repeat(43)}`, {}),
  'the header within a token': (text) =>
    inspectToken(`${Buffer.from(text).toString('base64url')}.e30.${'a'.repeat(43)}`, {}),
  'a label': label,
};

describe('the processor time', () => {
  test.each(Object.entries(readers))(
    'of reading %s, at twice and four times the length, grows no faster than the length',
    (_what, read) => {
      fc.assert(
        fc.property(shape, (given) => {
          const [once, twice, fourTimes] = [SIZE, 2 * SIZE, 4 * SIZE].map((size) => sized(given, size));
          const [short, , long] = [once, twice, fourTimes].map(
            (text) => () => quietly(() => read(text ?? '')),
          );
          if (!short || !long) return;
          short();
          // Measured again where it looks bad, as other work on the machine may have come between.
          const grows = () => least(3, long) > MOST * least(3, short) + NOISE_MS;
          expect(grows() && grows() && grows()).toBe(false);
        }),
        { numRuns: 60, examples: KNOWN },
      );
    },
  );

  const places = {
    'the body': (text: string) => ['POST /webhooks/media', 'Authorization: Bearer a.b.c', text],
    'the token': (text: string) => ['POST /webhooks/media', `Authorization: Bearer ${text}`, '{}'],
    'an Authorization without Bearer': (text: string) => [
      'POST /webhooks/media',
      `Authorization: ${text}`,
      '{}',
    ],
    'a header': (text: string) => ['POST /webhooks/media', `X-Forwarded-For: ${text}`, '{}'],
    'the path': (text: string) => [`GET /${text.replaceAll(' ', '/')}`, 'X: y', ''],
    'the query': (text: string) => [
      `POST /webhooks/media?${text.replaceAll(' ', '+')}`,
      'Authorization: Bearer a.b.c',
      '{}',
    ],
  } as const;

  test.each(Object.entries(places))(
    'of a request with a long text in %s, at four times the length, grows no faster than the length',
    async (_where, build) => {
      const service = await runService(
        {},
        { BODY_LIMIT: '4194304', TRUST_PROXY: '2', REJECT_LIMIT: '1000000' },
      );
      const request = (text: string) => {
        const [line, header, body = ''] = build(text);
        const head = [
          `${line} HTTP/1.1`,
          'Host: x',
          'Connection: close',
          header,
          `Content-Length: ${Buffer.byteLength(body)}`,
        ];
        return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
      };
      const cost = async (bytes: Buffer) => {
        let lowest = Number.POSITIVE_INFINITY;
        for (let count = 0; count < 3; count++) {
          const before = process.cpuUsage();
          const connection = await rawConnection(service.port);
          connection.write(bytes);
          await connection.closed;
          const { user, system } = process.cpuUsage(before);
          lowest = Math.min(lowest, (user + system) / 1000);
        }
        return lowest;
      };
      const printable = shape.map((given) => ({ ...given, unit: given.unit.replaceAll(/[^!-~ ]/g, 'a') }));
      try {
        await fc.assert(
          fc.asyncProperty(printable, async (given) => {
            const [short, long] = [SIZE, 4 * SIZE].map((size) => request(sized(given, size)));
            if (!short || !long) return;
            const grows = async () => (await cost(long)) > MOST * (await cost(short)) + 5 * NOISE_MS;
            expect((await grows()) && (await grows()) && (await grows())).toBe(false);
          }),
          { numRuns: 25, examples: KNOWN },
        );
      } finally {
        await service.dispose();
      }
    },
  );
});
