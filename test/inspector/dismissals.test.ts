import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';

let inspected: Inspected;
beforeAll(async () => {
  inspected = await inspect({
    media_available() {},
    media_updated(event) {
      throw new Error(`cannot publish ${event.media_id}`);
    },
    media_deleted() {
      throw new Error('the archive is gone');
    },
  });
  for (let number = 0; number < 6; number++) {
    const event = number % 2 === 0 ? 'media_updated' : 'media_deleted';
    await inspected.deliver(notification({ media_id: `m${number}`, event }));
  }
  await inspected.deliver(notification({ media_id: 'fine' }));
  await inspected.settled();
});
afterAll(() => inspected.dispose());

async function post(path: string, given: object) {
  const { status, body } = await inspected.post(`/api${path}`, given);
  return { status, ...JSON.parse(body) };
}

async function idsOf(filter: string): Promise<string[]> {
  return (await inspected.api(`/events?${filter}`)).events.map(({ id }: { id: string }) => id);
}

describe('a dismissal', () => {
  test('ends what matches and nothing else, when the error is a pattern; it counts first, and the log says who', async () => {
    const filter = { error: '*cannot publish *' };
    const counted = { status: 200, dry_run: true, events: 3, more: false };
    expect(await post('/events/dismiss', { ...filter, dry_run: true })).toEqual(counted);
    expect(await idsOf('status=dead')).toHaveLength(6);
    const done = await post('/events/dismiss', { ...filter, reason: 'not published any more' });
    expect(done).toEqual({ ...counted, dry_run: false });
    expect(await idsOf('status=dead')).toHaveLength(3);
    const { events } = await inspected.api('/events?status=dismissed');
    expect(events).toHaveLength(3);
    for (const event of events) expect(event).toMatchObject({ last_error: 'not published any more' });
    const lines = inspected.log.lines.map((line) => JSON.parse(line));
    const answer = { dry_run: false, events: 3, more: false };
    const asked = { ...filter, reason: 'not published any more' };
    const said = { msg: 'done at the inspector', source: '127.0.0.1', asked, answer };
    expect(lines).toContainEqual(expect.objectContaining(said));
  });

  test.each([
    [{ status: 'dead' }, 'say why'],
    [{ status: 'dead', reason: ' ' }, 'reason'],
    [{ reason: 'no filter' }, 'all: true'],
    [{ status: 'dead', reason: 'x', dryRun: true }, 'unknown: "dryRun"'],
  ])('ends nothing, when it is asked for with %j, and says what is wrong: %s', async (body, error) => {
    const refused = { status: 400, error: expect.stringContaining(error) };
    expect(await post('/events/dismiss', body)).toEqual(refused);
    expect(await idsOf('status=dead')).toHaveLength(3);
  });

  test('takes one event, by API and by its page, and says so where there is nothing to end', async () => {
    const [first = '', second = ''] = await idsOf('status=dead');
    expect(await post(`/events/${first}/dismiss`, { reason: 'seen' })).toMatchObject({ dismissed: 1 });
    expect((await inspected.post(`/events/${second}/dismiss`, { reason: ' ' })).status).toBe(400);
    expect((await inspected.post(`/events/${second}/dismiss`, { reason: 'a test' })).status).toBe(303);
    expect((await inspected.raw(`/events/${second}`)).body).toContain('a test');
    const again = { status: 409, error: expect.stringContaining('it is dismissed now') };
    expect(await post(`/events/${first}/dismiss`, { reason: 'seen' })).toEqual(again);
    const [handled] = await idsOf('status=handled');
    expect(await post(`/events/${handled}/dismiss`, { reason: 'x' })).toMatchObject({ status: 409 });
  });

  test('takes the rest by the page, which counts, needs a reason and says how many', async () => {
    const { body } = await inspected.raw('/events/dismiss?status=dead');
    expect(body).toContain('Dismiss 1 event<');
    const [, id = ''] = /name="id" value="([^"]*)"/.exec(body) ?? [];
    expect((await inspected.post('/events/dismiss', { status: 'dead', id })).status).toBe(400);
    const answer = await inspected.post('/events/dismiss', { status: 'dead', id, reason: 'the rest' });
    const progress = String(answer.headers.location).slice(2);
    const page = async () => (await inspected.raw(progress)).body.replaceAll(/\s+/g, ' ');
    await eventually('it has ended', async () => (await page()).includes('1 event was dismissed.'));
    expect(await inspected.service.store.overview()).toMatchObject({ dead: 0, pending: 0 });
  });
});
