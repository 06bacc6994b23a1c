import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { bodyOf, deliver } from '../support/notifications.ts';
import { OWN_THREADS } from '../support/own-threads.ts';
import { rawConnection, statusOf } from '../support/raw-http.ts';
import { type RunningService, runService } from '../support/running-service.ts';
import { corpusRequests } from './corpus.ts';
import { bytesOf, type CorpusRequest } from './corpus-request.ts';

const LIMIT = 65_536;
const corpus = await corpusRequests();
let unthrottled: RunningService;
let throttled: RunningService;

beforeAll(async () => {
  const options = { threads: OWN_THREADS };
  unthrottled = await runService({}, { REJECT_LIMIT: '1000000' }, options);
  throttled = await runService({}, { REJECT_LIMIT: '1' }, options);
  const [usual] = corpus.filter(({ name }) => name.includes('usual'));
  if (usual) await answerOf(throttled, usual);
});
afterAll(() => Promise.all([unthrottled.dispose(), throttled.dispose()]));

/** What comes back, until the first answer is whole or the connection closed. */
async function answerOf(service: RunningService, request: CorpusRequest): Promise<string> {
  const built = request.build(LIMIT);
  const connection = await rawConnection(service.port);
  connection.write(bytesOf({ ...built, headers: ['Connection: close', ...built.headers] }));
  return connection.closed;
}

describe('a hostile request', () => {
  test.each(corpus.map((one) => [one.name, one.expected, one] as const))(
    'such as %s is answered with %i, and the next notification is taken',
    async (_name, expected, request) => {
      expect(statusOf(await answerOf(unthrottled, request))).toBe(expected);
      expect((await deliver(unthrottled.url, bodyOf(1))).status).toBe(200);
    },
  );

  test.each(corpus.map((one) => [one.name, one] as const))(
    'such as %s is answered, when its source is throttled, with 429 or what its head alone tells',
    async (_name, request) => {
      expect([401, 404, 429, 431]).toContain(statusOf(await answerOf(throttled, request)));
      expect((await deliver(throttled.url, bodyOf(2))).status).toBe(200);
    },
  );

  test('is there in more than 20 shapes, each of another name', () => {
    expect(corpus.length).toBeGreaterThan(20);
    expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length);
  });
});
