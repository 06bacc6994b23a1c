import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Webhook } from '../../../src/mock/webhooks.ts';
import { listPage } from '../../../src/mock/webhooks-api.ts';
import { kindNames } from '../../../src/notification/kinds.ts';
import { present } from '../../support/only.ts';
import { runs } from '../../support/sizes.ts';

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'A', '1'), minLength: 1, maxLength: 3 });
const time = fc.nat(5).map((second) => `2026-01-01T00:00:0${second}.000000+00:00`);
const webhook: fc.Arbitrary<Webhook> = fc.record({
  id: fc.string({ unit: fc.constantFrom('a', 'B', '2'), minLength: 8, maxLength: 8 }),
  type: fc.constant('webhook' as const),
  created: time,
  last_modified: time,
  schema: fc.constant(null),
  relationships: fc.constant({}),
  metadata: fc.record({
    name: word,
    description: fc.oneof(fc.constant(''), word),
    webhook_url: word.map((path) => `https://example.com/${path}`),
    events: fc.subarray(kindNames),
    site_ids: fc.array(word, { maxLength: 3 }),
  }),
});

const everything = ({ id, metadata: { events, site_ids, ...texts } }: Webhook): string[] =>
  [id, ...events, ...site_ids, ...Object.values(texts)].map((text) => text.toLowerCase());

describe('a list of webhooks', () => {
  test('is what a naive filter finds, for any q, sort and page, with the total of all pages', () => {
    const fields = ['id', 'created', 'last_modified', 'name', 'description', 'webhook_url'] as const;
    const query = fc.record({
      q: fc.oneof(
        fc.constant(''),
        word,
        fc.tuple(word, word).map((words) => words.join(' ')),
      ),
      field: fc.constantFrom(...fields),
      direction: fc.constantFrom('asc', 'dsc'),
      page: fc.nat(4),
      page_length: fc.nat(5),
    });
    fc.assert(
      fc.property(
        fc.array(webhook, { maxLength: 12 }),
        query,
        (all, { q, field, direction, page, page_length }) => {
          const sortValue = (one: Webhook) =>
            field === 'name' || field === 'description' || field === 'webhook_url'
              ? one.metadata[field]
              : one[field];
          const words = q.toLowerCase().split(' ');
          const found = all.filter((one) =>
            words.every((part) => everything(one).some((text) => text.includes(part))),
          );
          for (let end = found.length; end > 1; end--) {
            for (let i = 1; i < end; i++) {
              const [left, right] = [found[i - 1], found[i]];
              if (left && right && sortValue(left) > sortValue(right)) found.splice(i - 1, 2, right, left);
            }
          }
          if (direction === 'dsc') found.reverse();
          const length = page_length || 10;
          const first = ((page || 1) - 1) * length;

          const answer = listPage(all, {
            q,
            sort: `${field}:${direction}`,
            page: String(page),
            page_length: String(page_length),
          });
          expect(answer).toEqual({
            page: page || 1,
            page_length: length,
            total: found.length,
            webhooks: found.filter((_, i) => i >= first && i < first + length),
          });
        },
      ),
      { numRuns: runs(500) },
    );
  });

  test('is sorted by each field in turn, when several are given, whatever their number, order and directions', () => {
    const field = fc.constantFrom('id', 'created', 'last_modified', 'name', 'description', 'webhook_url');
    const order = fc.record({ field, direction: fc.constantFrom('asc', 'dsc') });
    fc.assert(
      fc.property(
        fc.array(webhook, { maxLength: 12 }),
        fc.array(order, { minLength: 1, maxLength: 4 }),
        (all, orders) => {
          const sort = orders.map(({ field, direction }) => `${field}:${direction}`).join(',');
          const { webhooks } = listPage(all, { sort, page_length: '100' });
          expect(new Set(webhooks)).toEqual(new Set(all));
          for (const [index, two] of webhooks.slice(1).entries()) {
            const one = present(webhooks[index]);
            const values = (of: Webhook) => ({ ...of.metadata, ...of });
            const decisive = orders.find(
              ({ field }) => Reflect.get(values(one), field) !== Reflect.get(values(two), field),
            );
            const first = decisive ?? { field: '', direction: present(orders[0]).direction };
            const isLess = decisive
              ? Reflect.get(values(one), first.field) < Reflect.get(values(two), first.field)
              : all.indexOf(one) < all.indexOf(two);
            expect(isLess).toBe(first.direction === 'asc');
          }
        },
      ),
      { numRuns: runs(500) },
    );
  });

  test.each([
    ['name:asc,created:dsc', ['a2', 'a1', 'b3', 'b1']],
    ['name:asc, created:asc', ['a1', 'a2', 'b1', 'b3']],
    ['name:dsc,created:asc', ['b1', 'b3', 'a1', 'a2']],
    ['nonsense:asc,name:asc,created:asc', ['a1', 'a2', 'b1', 'b3']],
    ['name', ['b3', 'b1', 'a2', 'a1']],
    ['__proto__:asc', ['b3', 'a2', 'b1', 'a1']],
    [',', ['b3', 'a2', 'b1', 'a1']],
  ])('is sorted, when sort is %j, as %j', (sort, expected) => {
    const one = (name: string, second: number): Webhook => ({
      id: `${name}${second}`,
      type: 'webhook',
      created: `2026-01-01T00:00:0${second}.000000+00:00`,
      last_modified: '2026-01-01T00:00:00.000000+00:00',
      schema: null,
      relationships: {},
      metadata: { name, description: '', webhook_url: 'https://example.com/', events: [], site_ids: [] },
    });
    const all = [one('a', 1), one('b', 1), one('a', 2), one('b', 3)];
    expect(listPage(all, { sort }).webhooks.map(({ id }) => id)).toEqual(expected);
  });

  test.each([
    ['name:alpha', ['alpha']],
    ['NAME:ALPHA', ['alpha']],
    ['description:alpha', ['beta']],
    ['alpha', ['beta', 'alpha']],
    ['alpha not', ['beta']],
    ['site_ids:9KboGBFu', ['alpha']],
    ['events:channel', ['beta']],
    ['https://example.com/beta', ['beta']],
    ['webhook_url:https://example.com', ['beta', 'alpha']],
    ['nothing', []],
  ])('looks for %j, in the field that it names or in all, and finds %j', (q, names) => {
    const one = (
      name: string,
      description: string,
      event: 'media_created' | 'channel_idle',
      site: string,
    ): Webhook => ({
      id: `id${name}`.slice(0, 4),
      type: 'webhook',
      created: '2026-01-01T00:00:00.000000+00:00',
      last_modified: '2026-01-01T00:00:00.000000+00:00',
      schema: null,
      relationships: {},
      metadata: {
        name,
        description,
        webhook_url: `https://example.com/${name}`,
        events: [event],
        site_ids: [site],
      },
    });
    const all = [
      one('alpha', '', 'media_created', '9KboGBFu'),
      one('beta', 'not alpha', 'channel_idle', 'jsPxIVHl'),
    ];
    expect(listPage(all, { q }).webhooks.map(({ metadata }) => metadata.name)).toEqual(names);
  });
});
