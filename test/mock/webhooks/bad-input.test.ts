import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyCharacter } from '../../support/any-character.ts';
import { runs } from '../../support/sizes.ts';
import { ask } from '../support/api.ts';
import { useStage } from '../support/stage.ts';

const stage = useStage({ rateLimit: 1_000_000 });
const webhooks = () => `${stage.mock.url}/v2/webhooks`;
const metadata = {
  name: 'a',
  webhook_url: 'https://example.com/',
  events: ['media_created'],
  site_ids: ['s'],
};

describe('a bad body', () => {
  test.each<[string, unknown]>([
    ['malformed JSON', '{"metadata": {'],
    ['no body', undefined],
    ['an empty body', ''],
    ['a body that is no object', '[]'],
    ['null', 'null'],
    ['a missing metadata', {}],
    ['a metadata that is no object', { metadata: 'x' }],
    ['a metadata that is a list', { metadata: [] }],
    ['an unknown event kind', { metadata: { ...metadata, events: ['media_created', 'media_exploded'] } }],
    ['the name of something else as event kind', { metadata: { ...metadata, events: ['toString'] } }],
    ['events that are no list', { metadata: { ...metadata, events: 'media_created' } }],
    ['an event that is no string', { metadata: { ...metadata, events: [5] } }],
    ['a webhook_url that is no URL', { metadata: { ...metadata, webhook_url: 'example.com/hook' } }],
    ['a webhook_url that is not HTTPS', { metadata: { ...metadata, webhook_url: 'http://example.com/' } }],
    [
      'a webhook_url that only looks like loopback',
      { metadata: { ...metadata, webhook_url: 'http://127.0.0.1.example.com/' } },
    ],
    ['a webhook_url of another scheme', { metadata: { ...metadata, webhook_url: 'ftp://127.0.0.1/' } }],
    [
      'a webhook_url with a line break',
      { metadata: { ...metadata, webhook_url: 'https://example.com/\r\nX: y' } },
    ],
    ['a webhook_url that is empty', { metadata: { ...metadata, webhook_url: '' } }],
    ['a webhook_url that is null', { metadata: { ...metadata, webhook_url: null } }],
    ['a name that is no string', { metadata: { ...metadata, name: 5 } }],
    ['a description that is no string', { metadata: { ...metadata, description: {} } }],
    ['site_ids that are no list', { metadata: { ...metadata, site_ids: 'abc' } }],
    ['a site id that is no string', { metadata: { ...metadata, site_ids: [1] } }],
  ])(
    'is refused, for %s, with 400 invalid_body, at creation and, but for what is missing, at update',
    async (_what, body) => {
      const { id } = stage.webhook();
      for (const [method, url] of [
        ['POST', webhooks()],
        ['PATCH', `${webhooks()}/${id}`],
      ] as const) {
        const answer = await ask(url, method, body);
        expect([answer.status, answer.json.errors[0].code]).toEqual([400, 'invalid_body']);
      }
      expect(stage.mock.listWebhooks()).toHaveLength(1);
    },
  );

  test('is refused, when it is larger than a megabyte, with 400', async () => {
    const body = { metadata: { ...metadata, name: 'x'.repeat(1_100_000) } };
    expect((await ask(webhooks(), 'POST', body)).status).toBe(400);
  });

  test('is refused, when it is nested very deep, with 400', async () => {
    expect((await ask(webhooks(), 'POST', '['.repeat(500_000))).status).toBe(400);
    expect((await ask(webhooks(), 'POST', `${'['.repeat(400_000)}${']'.repeat(400_000)}`)).status).toBe(400);
  });
});

describe('any input', () => {
  const almost = fc.record(
    {
      metadata: fc.record(
        {
          name: fc.oneof(fc.string({ unit: anyCharacter }), fc.jsonValue()),
          description: fc.oneof(fc.string(), fc.jsonValue()),
          webhook_url: fc.oneof(fc.webUrl(), fc.jsonValue()),
          events: fc.oneof(fc.array(fc.constantFrom('media_created', 'x', '__proto__')), fc.jsonValue()),
          site_ids: fc.oneof(fc.array(fc.string()), fc.jsonValue()),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.json(),
    almost.map((value) => JSON.stringify(value)),
  );

  test('is answered by 201, 200 or 400, in any body of a creation or an update, never 5xx', async () => {
    const { id } = stage.webhook();
    await fc.assert(
      fc.asyncProperty(body, fc.boolean(), async (text, isCreation) => {
        const answer = await (isCreation
          ? ask(webhooks(), 'POST', text)
          : ask(`${webhooks()}/${id}`, 'PATCH', text));
        expect([200, 201, 400]).toContain(answer.status);
      }),
      { numRuns: runs(300) },
    );
  });

  test('is answered by less than 500, in any path or query', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: anyCharacter }),
        fc.string(),
        fc.constantFrom('GET', 'DELETE', 'PATCH'),
        async (id, query, method) => {
          const path = `${encodeURIComponent(id.toWellFormed())}?${encodeURI(query)}`;
          expect((await ask(`${webhooks()}/${path}`, method)).status).toBeLessThan(500);
          expect(
            (
              await ask(
                `${webhooks()}?page=${encodeURIComponent(query)}&sort=${encodeURIComponent(query)}`,
                'GET',
              )
            ).status,
          ).toBe(200);
        },
      ),
      { numRuns: runs(200) },
    );
  });
});
