import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { ReadyApp } from '../../src/dispatch/open-app.ts';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { inspect } from '../support/inspected-service.ts';

const down = () => {
  throw new Error('the index is down');
};
const [captions, search] = [{ handlers: { media_available() {} } }, { handlers: { media_available: down } }];
const handlers = { media_available() {}, media_updated: down };
const app: ReadyApp = { handlers, subscribers: { captions, search } };

const inspected = await inspect({}, {}, { app });
const page = async (path: string) => (await inspected.raw(path)).body.replaceAll(/\s+/g, ' ');
const events = async (filter: string): Promise<{ id: string; subscriber: string }[]> =>
  (await inspected.api(`/events?${filter}`)).events;
const whoseAre = async (filter: string) => (await events(filter)).map(({ subscriber }) => subscriber).sort();
const post = async (path: string, given: object) => {
  const { status, body } = await inspected.post(path, given);
  return { status, ...JSON.parse(body) };
};

await inspected.deliver(notification({ media_id: 'one' }));
await inspected.deliver(notification({ media_id: 'one', event: 'media_updated' }));
await eventually('all have ended', async () => (await events('')).length === 4);
await inspected.settled();

test.each([
  ['', ['', '', 'captions', 'search']],
  ['subscriber=main', ['', '']],
  ['subscriber=search&status=handled', []],
  ['subscriber=main&resource=media:one', ['', '']],
])('lists those of whom the filter names, when it is %j: %j', async (filter, expected) => {
  expect(await whoseAre(filter)).toEqual(expected);
});

test.each(['Search', 'a%20b', '-'])('refuses %j as the name of a subscriber, with 400', async (name) => {
  expect((await inspected.raw(`/api/events?subscriber=${name}`)).status).toBe(400);
});

test('tells of an event how the others of its notification ended, in JSON and with links on its page', async () => {
  const [mine] = await events('subscriber=main&kind=media_available');
  const id = String(mine?.id);
  const found = await inspected.api(`/events/${id}@search`);
  const ended = expect.stringMatching(/^\d{4}-.*Z$/);
  const main = { id, subscriber: '', status: 'handled', ended };
  const captions = { id: `${id}@captions`, subscriber: 'captions', status: 'handled', ended };
  const search = { id: `${id}@search`, subscriber: 'search', status: 'dead', ended };
  expect(found).toMatchObject({ id: `${id}@search`, subscriber: 'search', siblings: [main, captions] });
  expect(found.timeline).toHaveLength(1);
  expect((await inspected.api(`/events/${id}`)).siblings).toEqual([captions, search]);
  const html = await page(`/events/${id}@search`);
  expect(html).toContain('<dt>Subscriber</dt><dd>search</dd>');
  const ofMain = `<dt>For main</dt> <dd><span class="status handled">handled</span> <a href="events/${id}"`;
  expect(html).toContain(ofMain);
});

test('refuses a verb for many events that does not say whose, with 400 that names them, and works on those of one', async () => {
  const error =
    'say whose events are meant, with subscriber main, all or a name: this database has captions, search';
  for (const verb of ['replay', 'dismiss'])
    for (const given of [{ status: 'dead' }, { all: true }, { status: 'dead', dry_run: true }])
      expect(await post(`/api/events/${verb}`, given)).toEqual({ status: 400, error });
  const more = { status: 400, error: expect.stringContaining('all: true') };
  expect(await post('/api/events/replay', { subscriber: 'search' })).toEqual(more);
  const counted = async (subscriber: string) =>
    (await post('/api/events/dismiss', { subscriber, status: 'dead', dry_run: true })).events;
  expect([await counted('main'), await counted('search'), await counted('all')]).toEqual([1, 1, 2]);
  const all = { subscriber: 'search', all: true };
  expect(await post('/api/events/replay', all)).toMatchObject({ events: 1 });
  await eventually('it is dead again', async () => (await events('status=dead')).length === 2);
  const replayed = async (filter: string) =>
    (await inspected.api(`/events?${filter}`)).events.map(({ replays }: { replays: number }) => replays);
  expect([await replayed('subscriber=main'), await replayed('subscriber=search')]).toEqual([[0, 0], [1]]);
});

test('asks whose events a page of a verb means, says whose it works on, and takes no form without them', async () => {
  const asked = await page('/events/dismiss?status=dead');
  for (const name of ['main', 'captions', 'search', 'all'])
    expect(asked).toContain(`href="events/dismiss?status=dead&amp;subscriber=${name}"`);
  expect(asked).not.toContain('<form method="post" action="events');
  const html = await page('/events/dismiss?status=dead&subscriber=search');
  expect(html).toContain('<b>1 event</b> of <b>search</b>');
  expect(html).toContain('action="events/dismiss?status=dead&amp;subscriber=search&amp;');
  const form = { status: 'dead', id: randomUUID(), reason: 'a test' };
  expect((await inspected.post('/events/dismiss', form)).status).toBe(400);
  expect((await events('status=dead')).length).toBe(2);
});

test('has a group of problems for each, whose links lead to its events alone', async () => {
  const { problems } = await inspected.api('/problems');
  const error = 'Error: the index is down';
  expect(problems).toHaveLength(2);
  expect(problems).toContainEqual(expect.objectContaining({ subscriber: 'search', count: 1, error }));
  expect(problems).toContainEqual(expect.objectContaining({ subscriber: '', count: 1, error }));
  const html = await page('/problems');
  for (const name of ['main', 'search']) {
    expect(html).toContain(`subscriber <b>${name}</b>`);
    expect(html).toMatch(new RegExp(`href="events/replay\\?status=dead&amp;subscriber=${name}&amp;`));
  }
});

test('has a column and a filter in the list, a line on the overview, and a metric', async () => {
  const list = await page('/events?subscriber=search');
  expect(list).toContain('<th scope="col">Subscriber</th>');
  expect(list).toContain('<option value="search" selected>');
  expect(list).toContain('href="events/replay?subscriber=search"');
  const row = /id="subscribers">.*href="events\?subscriber=search&amp;status=pending"/;
  expect(await page('/')).toMatch(row);
  const counts = { pending: 0, waiting: 0, running: 0, behind: 0 };
  const none = { ...counts, instances: [expect.any(String)], oldest_pending_at: null };
  expect((await inspected.api('/stats')).subscribers).toEqual({ captions: none, search: none });
  expect(await page('/metrics')).toContain('webhook_subscriber_pending{subscriber="search"} 0');
});

test('replays nothing of one that was removed, as nobody would run it, and refuses that with 400', async () => {
  await inspected.service.store.queue.removeSubscriber('captions');
  const error = 'there is no subscriber captions, so nothing would run its events: this database has search';
  const [one] = await events('subscriber=captions');
  const given = { subscriber: 'captions', all: true };
  expect(await post('/api/events/replay', given)).toEqual({ status: 400, error });
  expect(await post(`/api/events/${one?.id}/replay`, {})).toEqual({ status: 400, error });
  const form = { subscriber: 'captions', id: randomUUID() };
  expect(await inspected.post('/events/replay', form)).toMatchObject({ status: 400, body: `${error}\n` });
  expect(await post('/api/events/dismiss', { ...given, dry_run: true })).toMatchObject({ events: 0 });
});
