import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyCharacter } from '../../support/any-character.ts';
import { runs } from '../../support/sizes.ts';
import { type Api, at, DAY, LIST, MEDIA, STATUSES, startApi } from './support.ts';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const NAMES =
  'status scheduled_at media_ids media_ids[] poll poll[options][] poll[expires_in] in_reply_to_id sensitive ' +
  'spoiler_text visibility limit max_id min_id since_id file __proto__ constructor[prototype] poll[__proto__] [] a[';
const name = fc.oneof(fc.constantFrom(...NAMES.split(' ')), fc.string());
const json = fc.jsonValue({ maxDepth: 3 });
const value = fc.oneof(
  json,
  fc.constantFrom<unknown>(at(DAY), '9'.repeat(400), 1e308, '\ud800', '\0', ['1'], [[]]),
);
const fields = fc.array(fc.tuple(name, fc.oneof(fc.string({ unit: anyCharacter }), fc.constant(at(DAY)))), {
  maxLength: 6,
});

const body = fc.oneof(
  fc.dictionary(name, value).map((members) => ['application/json', JSON.stringify(members)] as const),
  json.map((one) => ['application/json', JSON.stringify(one)] as const),
  fields.map((some) => ['application/x-www-form-urlencoded', new URLSearchParams(some).toString()] as const),
  fc.tuple(
    fc.constantFrom(
      'application/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'multipart/form-data',
      'text/plain',
      'multipart/form-data; boundary="',
    ),
    fc.oneof(
      fc.string(),
      fc.constantFrom('--x\r\n', '--x--', '--x\r\nContent-Disposition: form-data; name=a\r\n\r\n'),
    ),
  ),
);
const operation = fc.constantFrom(
  ['POST', STATUSES],
  ['POST', MEDIA],
  ['PUT', `${LIST}/1`],
  ['PATCH', `${LIST}/1`],
  ['DELETE', `${LIST}/2`],
  ['DELETE', LIST],
);
const query = fields.map((some) => `?${new URLSearchParams(some)}`);

/** Every answer is JSON, and every refusal says why; none is a fault of the mock's own. */
async function expectSound(method: string, path: string, contentType?: string, sent?: string) {
  await api.nextWindow();
  const headers = contentType === undefined ? {} : { 'Content-Type': contentType };
  const answer = await api.request(method, path, { headers, ...(sent !== undefined && { body: sent }) });
  expect(answer.status).toBeLessThan(500);
  if (answer.status !== 200) expect(answer.body).toEqual({ error: expect.any(String) });
}

test('answers soundly, whatever the body, and never with a 5xx', async () => {
  await fc.assert(
    fc.asyncProperty(operation, query, body, async ([method = '', path = ''], search, [type, text]) => {
      await expectSound(method, path + search, type, text);
    }),
    { numRuns: runs(500) },
  );
});

test('answers soundly, whatever the query or the id, and never with a 5xx', async () => {
  const id = fc.string({ unit: anyCharacter }).map(encodeURIComponent);
  await fc.assert(
    fc.asyncProperty(query, fc.oneof(id, fc.constantFrom('%', '%00', '1e9')), async (search, one) => {
      for (const path of [LIST, `${LIST}/${one}`, `${STATUSES}/${one}`, `/api/v1/media/${one}`]) {
        await expectSound('GET', path + search);
      }
    }),
    { numRuns: runs(300) },
  );
});

test('answers soundly, whatever the headers, and never with a 5xx', async () => {
  const text = fc.stringMatching(/^[\x20-\x7e]{0,40}$/);
  await fc.assert(
    fc.asyncProperty(text, text, text, async (authorization, forwardedHost, key) => {
      await api.nextWindow();
      for (const [name, token] of [
        ['Authorization', authorization],
        ['Authorization', 'Bearer alice-rw'],
      ] as const) {
        const headers = { [name]: token, 'X-Forwarded-Host': forwardedHost, 'Idempotency-Key': key };
        const answer = await fetch(`${api.url}${STATUSES}`, { method: 'POST', headers });
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(answer.status).toBeLessThan(500);
      }
    }),
    { numRuns: runs(100) },
  );
});
