import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decode, outlineOf, parseJsonText } from '../../src/notification/json.ts';
import { claimsOf, inspectToken, keyOf, signerOf, unsigned } from '../../src/notification/token.ts';
import { label } from '../../src/store/verified.ts';
import { rawConnection } from '../support/raw-http.ts';
import { runService } from '../support/running-service.ts';

/** Characters of the smallest of three sizes. */
const SIZE = 2 ** 18;
const SIZES = [SIZE, 2 * SIZE, 4 * SIZE] as const;
/** What is linear takes twice as long for twice as much; what is quadratic four times. */
const MOST = 3;
/** A millisecond more or less is the machine's, not the reader's. */
const NOISE_MS = 4;

/** The usual BODY_LIMIT, and the largest that is looked at. */
const USUAL = 65_536;
const LARGEST = 16 * 1024 * 1024;
/** Bytes for the beginning and the end of a shape. */
const ENDS = 128;
/**
 * What is linear takes as many times as long as it is longer, and some more where it no longer fits into a cache or its memory is new; what is
 * quadratic takes 256 times that.
 */
const MOST_AT_LARGEST = (32 * LARGEST) / USUAL;
/** What takes less cannot be measured by processor time. */
const FLOOR_MS = 0.25;

/** How often each length is measured again at most. */
const MOST_AGAIN = 9;

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
interface Shape {
  readonly start: string;
  /** comes as often as there is room for it */
  readonly unit: string;
  readonly end: string;
}
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
const KNOWN: readonly Shape[] = [
  { start: '{"n":1', unit: '0', end: '1}' },
  { start: '{"n":0.', unit: '0', end: '1}' },
  { start: '{"n":1e', unit: '0', end: '1}' },
  { start: '{"n":[', unit: '1e5,', end: '1]}' },
  { start: '{"n":[', unit: '0.1,', end: '1]}' },
  { start: '{"n":[', unit: '{},', end: '1]}' },
  { start: '{"n":', unit: '[', end: ']}' },
  { start: '{"n":"', unit: '\\\\', end: '"}' },
  { start: '{"n":"', unit: '\\"', end: '"}' },
  { start: '{"n":"', unit: '\\u0061', end: '"}' },
  { start: '{"n":"', unit: 'é', end: '"}' },
  { start: '{"', unit: '~/', end: '":1}' },
  { start: '{"a":1,', unit: '"a":1,', end: '"b":1}' },
  { start: '', unit: ' ', end: ' x' },
  { start: '', unit: '.', end: 'x' },
  { start: 'eyJhbGciOiJIUzI1NiJ9.', unit: 'a', end: `.${'a'.repeat(43)}` },
];
const EXAMPLES: [Shape][] = KNOWN.map((known) => [known]);
const sized = ({ start: first, unit, end: last }: Shape, size: number) =>
  first + unit.repeat(Math.ceil(size / unit.length)) + last;
const namesOf = ({ start: first, unit, end: last }: Shape) =>
  `${first}${unit}…${last.length > 10 ? '' : last}`;

/** Whether times at n, 2n and 4n grow faster than the length. */
function growsFaster([once, twice, fourTimes]: readonly number[], noise = NOISE_MS): boolean {
  if (once === undefined || twice === undefined || fourTimes === undefined) return true;
  return twice > MOST * once + noise || fourTimes > MOST * twice + noise;
}

/**
 * The times at n, 2n and 4n, if they grow faster than the length; else none. Measured again where it looks bad, as other work on the machine may have
 * come between: the least of each length counts.
 */
async function thatGrowFaster(
  measure: () => Promise<readonly number[]>,
  noise = NOISE_MS,
): Promise<readonly number[]> {
  let times = await measure();
  for (let left = MOST_AGAIN; left > 0 && growsFaster(times, noise); left--) {
    const again = await measure();
    times = times.map((ms, at) => Math.min(ms, again[at] ?? ms));
  }
  return growsFaster(times, noise) ? times : [];
}

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
    async (_what, read) => {
      await fc.assert(
        fc.asyncProperty(shape, async (given) => {
          const texts = SIZES.map((size) => sized(given, size));
          quietly(() => read(texts[0] ?? ''));
          const measure = async () => texts.map((text) => processorMs(() => quietly(() => read(text))));
          expect(await thatGrowFaster(measure)).toEqual([]);
        }),
        { numRuns: 40, examples: EXAMPLES },
      );
    },
  );

  test.each(Object.entries(readers))(
    'of reading %s, in every shape that has been trouble, is linear from 64 KiB to 16 MiB',
    (what, read) => {
      const wrong: string[] = [];
      for (const known of KNOWN) {
        const [usual, largest] = [USUAL, LARGEST].map((size) => sized(known, size));
        const cost = (text: string, times: number) => least(times, () => quietly(() => read(text)));
        const most = () => MOST_AT_LARGEST * Math.max(FLOOR_MS, cost(usual ?? '', 10));
        const isLinear = () => cost(largest ?? '', 1) <= most();
        if (!isLinear() && !isLinear()) wrong.push(`${what}: ${namesOf(known)}`);
      }
      expect(wrong).toEqual([]);
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

  const printable = (given: Shape) => ({ ...given, unit: given.unit.replaceAll(/[^!-~ ]/g, 'a') });

  const requestOf = (build: (text: string) => readonly string[], text: string) => {
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

  const costOf = async (port: number, bytes: Buffer) => {
    const before = process.cpuUsage();
    const connection = await rawConnection(port);
    connection.write(bytes);
    await connection.closed;
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };

  const leastCost = async (port: number, bytes: Buffer, times: number) => {
    let lowest = Number.POSITIVE_INFINITY;
    for (let count = 0; count < times; count++) lowest = Math.min(lowest, await costOf(port, bytes));
    return lowest;
  };

  test.each(Object.entries(places))(
    'of a request with a long text in %s, at twice and four times the length, grows no faster than the length',
    async (_where, build) => {
      const { port, dispose } = await runService(
        {},
        { BODY_LIMIT: '4194304', TRUST_PROXY: '2', REJECT_LIMIT: '1000000' },
      );
      try {
        await fc.assert(
          fc.asyncProperty(shape.map(printable), async (given) => {
            const requests = SIZES.map((size) => requestOf(build, sized(given, size)));
            const measure = async () => {
              const costs: number[] = [];
              for (const bytes of requests) costs.push(await costOf(port, bytes));
              return costs;
            };
            expect(await thatGrowFaster(measure, 5 * NOISE_MS)).toEqual([]);
          }),
          { numRuns: 25, examples: EXAMPLES },
        );
      } finally {
        await dispose();
      }
    },
  );

  test.each(Object.entries(places))(
    'of a request with a long text in %s, in every shape that has been trouble, is linear from 64 KiB to 16 MiB',
    async (where, build) => {
      const { port, dispose } = await runService(
        {},
        { BODY_LIMIT: String(LARGEST), TRUST_PROXY: '2', REJECT_LIMIT: '1000000' },
      );
      try {
        const wrong: string[] = [];
        for (const known of KNOWN.map(printable)) {
          const [usual, largest] = [USUAL, LARGEST].map((size) =>
            requestOf(build, sized(known, size - ENDS)),
          );
          if (!usual || !largest) continue;
          const isLinear = async () => {
            const most = MOST_AT_LARGEST * Math.max(FLOOR_MS, await leastCost(port, usual, 5));
            return (await leastCost(port, largest, 1)) <= most;
          };
          if (!(await isLinear()) && !(await isLinear())) wrong.push(`${where}: ${namesOf(known)}`);
        }
        expect(wrong).toEqual([]);
      } finally {
        await dispose();
      }
    },
  );
});
