import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../../support/sizes.ts';
import { type Api, DAY, type Json, LIST, startApi } from './support.ts';

let api: Api;
const cancelled = [3, 4, 20, 41, 69];
const bobs = [71, 72, 73];
const ids = Array.from({ length: 78 }, (_, n) => 78 - n).filter(
  (id) => ![...cancelled, ...bobs].includes(id),
);
beforeAll(async () => {
  api = await startApi();
  for (let n = 0; n < 70; n++) await api.schedule(DAY * (100 + (n % 7)));
  for (const id of cancelled) await api.request('DELETE', `${LIST}/${id}`);
  for (const _ of bobs) await api.schedule(100 * DAY, {}, 'bob-rw');
  for (let n = 0; n < 5; n++) await api.schedule(120 * DAY);
});
afterAll(() => api.close());

interface Query {
  readonly max_id?: string | undefined;
  readonly since_id?: string | undefined;
  readonly min_id?: string | undefined;
  readonly limit?: string | undefined;
}

/** The rules of the specification's list operation, written down as plainly as possible. */
function naive({ max_id, since_id, min_id, limit }: Query): number[] {
  const wanted =
    limit !== undefined && /^-?[1-9]/.test(limit) ? Math.min(Math.abs(Number.parseInt(limit, 10)), 40) : 20;
  const cursors = [max_id, since_id, min_id].filter((cursor) => cursor !== undefined && cursor !== '');
  if (cursors.some((cursor) => !/^\d+$/.test(cursor ?? ''))) return [];
  let found = ids;
  if (max_id) found = found.filter((id) => id < Number(max_id));
  if (min_id) {
    const above = found.filter((id) => id > Number(min_id)).sort((left, right) => left - right);
    return above.slice(0, wanted).sort((left, right) => right - left);
  }
  if (since_id) found = found.filter((id) => id > Number(since_id));
  return found.slice(0, wanted);
}

const cursor = fc.option(
  fc.oneof(
    { weight: 8, arbitrary: fc.nat(85).map(String) },
    { weight: 1, arbitrary: fc.constantFrom('', 'abc', '99999999999999999999', 'x1') },
  ),
  { nil: undefined },
);
const limit = fc.option(
  fc.oneof(
    fc.integer({ min: -50, max: 50 }).map(String),
    fc.constantFrom('', 'all', '3x', '99999999999999999999'),
  ),
  { nil: undefined },
);

test('lists, whatever the query, what a naive filter finds, and links to what lies beside it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ max_id: cursor, since_id: cursor, min_id: cursor, limit }),
      async (query) => {
        await api.nextWindow();
        const sent = Object.entries(query).filter(
          (entry): entry is [string, string] => entry[1] !== undefined,
        );
        const { body, headers } = await api.get(`${LIST}?${new URLSearchParams(sent)}`);
        const found = body.map(({ id }: Json) => Number(id));
        expect(found).toEqual(naive(query));

        const links = headers.get('link') ?? '';
        const next = /max_id=(\d+)>; rel="next"/.exec(links)?.[1];
        const prev = /min_id=(\d+)>; rel="prev"/.exec(links)?.[1];
        expect(prev).toBe(found.length === 0 ? undefined : String(found[0]));
        const full = found.length > 0 && found.length === naive({ limit: query.limit }).length;
        expect(next).toBe(full ? String(found.at(-1)) : undefined);
      },
    ),
    { numRuns: runs(300) },
  );
});
