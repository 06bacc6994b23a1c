import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WEBHOOK } from '../../support/genuine.ts';
import { type Inspected, inspect } from '../../support/inspected-service.ts';

const HTML = { headers: { accept: 'text/html' } };
const members = { webhook_id: WEBHOOK, site_id: 'site0001' };

let inspected: Inspected;
beforeAll(async () => {
  inspected = await inspect();
  await inspected.deliver({ ...members, media_id: 'nameless' });
  await inspected.deliver({ ...members, event: 'media', media_id: 'like-a-group' });
  await inspected.deliver({ ...members, event: 'media_available', media_id: 'usual' });
  await inspected.settled();
});
afterAll(() => inspected.dispose());

/** The resources that a list shows. */
async function resourcesAt(path: string): Promise<string[]> {
  const { body } = await inspected.raw(path, HTML);
  return [...body.matchAll(/<td class="id"><a [^>]*>([^<]*)</g)].map(([, resource = '']) => resource);
}

test.each([
  ['(no kind)', ['media:nameless']],
  ['media', ['media:like-a-group']],
  ['media_available', ['media:usual']],
])(
  'the link of a kind on the overview leads to the events of that kind alone: %s',
  async (kind, expected) => {
    const { body } = await inspected.raw('/', HTML);
    const link = new Map(
      [...body.matchAll(/<a href="([^"]+)">([^<]*)<\/a>/g)].map(([, path, text]) => [text, path]),
    );
    expect(await resourcesAt(String(link.get(kind)).replaceAll('&amp;', '&'))).toEqual(expected);
  },
);

test.each([
  ['since', 'garbage', 'since: must be a date'],
  ['resource', 'UUhbHm6C', 'resource: must be media:ID or channel:ID'],
  ['q', 'x'.repeat(300), 'q: '],
])('the form keeps what was typed and says what is wrong, when %s is %s', async (name, value, said) => {
  const { status, body } = await inspected.raw(`/events?${name}=${value}&site=site0001`, HTML);
  expect(status).toBe(400);
  expect(body).toContain(`role="alert">${said}`);
  expect(body).toContain(`value="${value}"`);
  expect(body).toContain('value="site0001"');
  expect(body).toContain('Nothing was searched for');
  expect(await resourcesAt(`/events?${name}=${value}`)).toEqual([]);
});

test.each([
  ['a member twice', '{"a":1,"a":2}', 'appears twice in one object'],
  ['no object', '[]', 'not a JSON object'],
])('the advice about a rejected body is of what was wrong with it: %s', async (_, body, advice) => {
  const headers = { authorization: 'Bearer x', 'content-type': 'application/json' };
  expect(
    (
      await fetch(`http://127.0.0.1:${inspected.service.port}/webhooks/media`, {
        method: 'POST',
        headers,
        body,
      })
    ).status,
  ).toBe(400);
  const { rejections } = await inspected.api('/rejections');
  expect(rejections[0].advice).toContain(advice);
});

test.each([
  ['eyJhbGciOiJub25lIn0.e30.', '{"webhook_id":"w"}', 'not_hs256', 'never uses'],
  [
    'eyJhbGciOiJIUzI1NiJ9.e30.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '{"a":1}',
    'no_secret',
    'names no webhook',
  ],
])(
  'the advice about a rejected token is of what was wrong with it: %s',
  async (token, body, result, advice) => {
    const headers = { authorization: `Bearer ${token}` };
    expect(
      (
        await fetch(`http://127.0.0.1:${inspected.service.port}/webhooks/media`, {
          method: 'POST',
          headers,
          body,
        })
      ).status,
    ).toBe(401);
    const { rejections } = await inspected.api('/rejections');
    expect(rejections[0]).toMatchObject({ result, advice: expect.stringContaining(advice) });
  },
);
