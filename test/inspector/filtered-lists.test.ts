import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WEBHOOK } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';

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
])('a kind that the filter offers leads to the events of that kind alone: %s', async (kind, expected) => {
  const { body } = await inspected.raw('/events', HTML);
  const values = new Map(
    [...body.matchAll(/<option value="([^"]+)">([^<]*)<\/option>/g)].map(([, value, text]) => [text, value]),
  );
  const query = new URLSearchParams({ kind: String(values.get(kind)) });
  expect(await resourcesAt(`/events?${query}`)).toEqual(expected);
});

test('a search for what may be an id leads to that media or channel, and a list without a search to none', async () => {
  const linked = async (query: string) =>
    (await inspected.raw(`/events${query}`, HTML)).body.match(/All events of [^<]+/g);
  expect(await linked('?q=UUhbHm6C')).toEqual([
    'All events of media:UUhbHm6C',
    'All events of channel:UUhbHm6C',
  ]);
  for (const query of ['', '?q=two+words']) expect(await linked(query)).toBeNull();
});

test.each([
  ['since', 'garbage', 'since: must be a time'],
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

/** What the last rejection says of a request with this token and body. */
async function rejected(token: string, body: string) {
  const url = `http://127.0.0.1:${inspected.service.port}/webhooks/media`;
  await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body });
  return (await inspected.api('/rejections')).rejections[0];
}

const ALG_NONE = 'eyJhbGciOiJub25lIn0.e30.';
const FORGED = `eyJhbGciOiJIUzI1NiJ9.e30.${'A'.repeat(43)}`;

test.each([
  ['no object', 'x', '[]', 'malformed_body', 'not a JSON object'],
  ['no signature', ALG_NONE, '{"webhook_id":"w"}', 'not_hs256', 'never uses'],
  ['no webhook', FORGED, '{"a":1}', 'no_secret', 'names no webhook'],
])('the advice about a rejection is of what was wrong: %s', async (_, token, body, result, advice) => {
  expect(await rejected(token, body)).toMatchObject({ result, advice: expect.stringContaining(advice) });
});
