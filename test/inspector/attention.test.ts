import { beforeAll, describe, expect, test } from '@jest/globals';
import { concernsOf } from '../../src/inspector/attention/attention.ts';
import { testDatabase } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { notification, SECRET, WEBHOOK } from '../support/genuine.ts';
import { type Inspected, inspectedForEachTest } from '../support/inspected-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verified } from '../support/verified-notification.ts';

type Snapshot = Parameters<typeof concernsOf>[0];

const inspect = inspectedForEachTest();

const GIB = 1024 ** 3;
const FULL = 'Nothing can be recorded: database or disk is full';
const SOME_NOT_RECORDED = '3 requests were not recorded in the last 10 minutes';
const NONE_IN = 'Nothing gets in, and 3 requests were refused: no token';
const SOME_REFUSED = '3 requests were refused in the last 10 minutes: no token';

describe('the overview', () => {
  let quiet: Snapshot;
  beforeAll(async () => {
    const inspected = await inspect();
    quiet = await inspected.api('/stats');
  });
  const told = (more: object, recent: object = {}) => {
    const last_10_minutes = { ...quiet.last_10_minutes, refused_for: ['no_token'], ...recent };
    const { rejected, not_recorded } = last_10_minutes;
    const last_2_minutes = { ...quiet.last_2_minutes, rejected, not_recorded };
    const snapshot = { ...quiet, last_2_minutes, ...more, last_10_minutes };
    const found = concernsOf(snapshot, Date.now());
    for (const { advice } of found) expect(advice.length).toBeGreaterThan(30);
    return found.map(({ grave, text }) => `${grave ? 'grave' : 'minor'}: ${text}`);
  };

  // Which of: accepted, duplicate, rejected, not recorded, and whether the store can commit.
  test.each([
    ['----  ok', []],
    ['A---  ok', []],
    ['--R-  ok', [`grave: ${NONE_IN}`]],
    ['A-R-  ok', [`minor: ${SOME_REFUSED}`]],
    ['---N  ok', [`grave: ${SOME_NOT_RECORDED}`]],
    ['A--N  ok', [`grave: ${SOME_NOT_RECORDED}`]],
    ['--RN  ok', [`grave: ${SOME_NOT_RECORDED}`, `grave: ${NONE_IN}`]],
    ['ADRN  ok', [`grave: ${SOME_NOT_RECORDED}`, `minor: ${SOME_REFUSED}`]],
    ['A--- not', [`grave: ${FULL}`]],
    ['ADRN not', [`grave: ${FULL}`, `minor: ${SOME_REFUSED}`]],
  ])('says what is wrong, and how grave it is, when this happened: %s', (what, expected) => {
    const count = (letter: string) => (what.includes(letter) ? 3 : 0);
    const refused = { rejected: count('R'), rejected_since: /[AD]/.test(what) ? 0 : count('R') };
    const counts = { accepted: count('A'), duplicate: count('D'), ...refused };
    const can_record = what.endsWith(' ok');
    const cannot_record = can_record ? null : 'database or disk is full';
    expect(told({ can_record, cannot_record }, { ...counts, not_recorded: count('N') })).toEqual(expected);
  });

  test('says that nothing gets in a minute after the last that came, and nothing more once what was wrong is over', () => {
    const counts = { accepted: 50, rejected: 30, not_recorded: 5 };
    const over = { last_2_minutes: quiet.last_2_minutes };
    const last = 'Nothing gets in, and 30 requests were refused: no token';
    expect(told({ ...over, last_recorded_at: ago(60_000) }, { ...counts, rejected_since: 30 })).toEqual([
      `grave: ${last}`,
    ]);
    expect(told({ ...over, last_recorded_at: ago(0) }, { ...counts, rejected_since: 0 })).toEqual([]);
  });

  test('says in one sentence how many events fail and why, the most frequent errors first', () => {
    const failing = ['a', 'b', 'b', 'c', 'd', 'b'].map((error, n) => {
      return { error, kind: n % 2 ? 'media_created' : 'media_available', site_id: 'site1', events: 100 - n };
    });
    expect(told({ failing })).toEqual([
      'grave: 585 events fail (site site1): b (292); a (100); c (97); 1 other error',
    ]);
  });

  const disk = (free_bytes: number | null, room: string | null) => ({
    disk: { database_bytes: 1, free_bytes, room },
  });
  const away = {
    name: 'other',
    version: '1',
    started_at: ago(0),
    seen_at: ago(40_000),
    running: 0,
    away: true,
  };
  const paused = { reason: 'x', by: 'me', since: ago(0) };
  test.each([
    ['the disk has little room', 'minor: The disk .* 512 MiB left', disk(GIB / 2, 'scarce')],
    ['the disk has hardly any', 'grave: The disk .* 51 MiB left', disk(GIB / 20, 'none')],
    ['nobody knows of the disk', '', disk(null, null)],
    ['no handler comes', 'grave: An event has been ready for 1 min', { oldest_ready_at: ago(90_000) }],
    ['handlers come soon', '', { oldest_ready_at: ago(50_000) }],
    ['handling is paused', 'grave: .*paused.*by me: x', { oldest_ready_at: ago(90_000), paused }],
    ['an event waits', 'grave: An event has waited for 6 min', { oldest_pending_at: ago(400_000) }],
    ['the key was changed', 'grave: The stored secrets cannot be read', { can_read_secrets: false }],
    ['no server runs', 'grave: No server runs', { instance: null, instances: [] }],
    ['an instance is away', 'grave: Instance other', { instances: [away] }],
    ['it is this one', '', { instance: 'other', instances: [away] }],
  ] as const)('says, when %s: %s', (_what, expected, more) => {
    expect(told(more)).toEqual(expected === '' ? [] : [expect.stringMatching(`^${expected}`)]);
  });
});

function ago(ms: number): string {
  return new Date(Date.now() - ms).toISOString();
}

/** The overview as its reader sees it, on one line. */
async function overview({ url }: Inspected): Promise<string> {
  const html = await (await fetch(url)).text();
  const [, headline = '', below = ''] = /<h1[^>]*>(.*?)<\/h1>(.*?)<\/section>/s.exec(html) ?? [];
  const concerns = below.includes('class="note') ? below : `${headline}. ${below}`;
  return concerns
    .replace(/<(small|form).*?<\/\1>/gs, '')
    .replace(/<[^>]+>/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

describe('the overview of a running service', () => {
  test('says that all is well, when nothing came and when something was accepted, and how much', async () => {
    const inspected = await inspect({ media_available() {} });
    expect(await overview(inspected)).toMatch(/All is well\. Nothing has come in yet/);
    await inspected.deliver(notification());
    await inspected.settled();
    expect(await overview(inspected)).toMatch(
      /All is well\. No event is dead, .* The newest event came [\d.]+ m?s ago/,
    );
  });

  const RIGHT = 'the-right-secret-of-thirty-two-bytes';
  const shows = (inspected: Inspected, what: RegExp) =>
    eventually(`the overview shows ${what}`, async () => what.test(await overview(inspected)));
  const send = async (inspected: Inspected, webhook_id: string, ...media: readonly string[]) => {
    for (const media_id of media) await inspected.deliver(notification({ media_id, webhook_id }), RIGHT);
  };

  test('names the webhook of which nothing gets in, when another one works, and no webhook that a stranger made up', async () => {
    const inspected = await inspect();
    await inspected.service.store.secrets.add('hookTwo2', 'another-secret-of-thirty-two-bytes');
    await inspected.deliver(notification());
    await send(inspected, 'hookTwo2', 'a', 'b', 'c');
    await send(inspected, 'madeUp99', 'a', 'b', 'c');
    await shows(inspected, /Nothing of webhook hookTwo2 gets in: bad signature 3 requests were refused/);
    expect(await overview(inspected)).not.toMatch(/madeUp99|Nothing gets in/);
    await inspected.deliver(
      notification({ webhook_id: 'hookTwo2', media_id: 'd' }),
      'another-secret-of-thirty-two-bytes',
    );
    expect(await overview(inspected)).not.toContain('hookTwo2');
  });

  test('is no longer alarmed, when the right secret has come and admitted what was refused, and forgeries follow', async () => {
    const inspected = await inspect();
    await send(inspected, WEBHOOK, 'a', 'b', 'c');
    await shows(
      inspected,
      new RegExp(`Nothing gets in.*Nothing of webhook ${WEBHOOK} gets in: bad signature 3 requests`),
    );
    await inspected.service.store.secrets.add(WEBHOOK, RIGHT);
    await shows(inspected, /^! 3 requests were refused in the last 10 minutes/);
    await inspected.deliver(notification({ media_id: 'd' }), 'a-forgery');
    await shows(inspected, /^! 4 requests were refused .* import the right one/);
  });

  test('is not alarmed, when another process takes in what this one refuses', async () => {
    const inspected = await inspect();
    await send(inspected, WEBHOOK, 'a', 'b', 'c');
    await shows(inspected, /Nothing gets in/);
    await inspected.service.store.queue.record(verified({ webhook_id: WEBHOOK }));
    await shows(inspected, /^! 3 requests were refused .*: bad signature/);
    const { last_10_minutes: recent } = await inspected.api('/stats');
    expect(recent).toMatchObject({ rejected: 3, refused_webhooks: [] });
  });

  test('names the errors of handlers that fail, and says that all is well once nobody waits for them', async () => {
    const media_available = () => {
      throw new Error('archive 17 is down');
    };
    const inspected = await inspect({ media_available }, { RETRY_BASE_MS: '60000' });
    await inspected.deliver(notification());
    await inspected.deliver(notification({ media_id: 'UUhbHm6D' }));
    await shows(
      inspected,
      /^✕ 2 events fail \(site jsPxIVHl\): Error: archive \* is down \(2\) Nothing was handled in the last/,
    );
    await inspected.service.store.queue.dismiss({}, 'nobody needs them');
    expect(await overview(inspected)).toMatch(/^✓ All is well/);
  });

  test('says by whom and why handling is paused, and forms and API pause and resume it, with a line in the log', async () => {
    const inspected = await inspect({ media_available() {} });
    expect((await inspected.post('/pause', { reason: ' ' })).status).toBe(400);
    expect((await inspected.post('/pause', { reason: 'the archive moves' })).status).toBe(303);
    await inspected.deliver(notification());
    expect(await overview(inspected)).toMatch(
      /^✕ Handling has been paused for .*, by admin at 127.0.0.1: the archive moves/,
    );
    const { concerns, paused } = await inspected.api('/stats');
    expect(concerns).toMatchObject([{ fault: 'paused', since: paused.since }]);
    await inspected.post('/resume');
    await inspected.settled();
    expect(await overview(inspected)).toMatch(/^✓ All is well/);
    const post = { method: 'POST', body: JSON.stringify({ reason: 'again' }) };
    expect(await inspected.api('/pause', post)).toEqual({ paused: true });
    expect((await inspected.api('/stats')).paused).toMatchObject({
      reason: 'again',
      by: 'admin at 127.0.0.1',
    });
    expect(await inspected.api('/resume', { method: 'POST' })).toEqual({ resumed: true });
    expect(await inspected.api('/resume', { method: 'POST' })).toEqual({ resumed: false });
    const reasons = ['the archive moves', undefined, 'again', undefined, undefined];
    expect(inspected.log.withMessage('done at the inspector')).toMatchObject(
      reasons.map((reason) => ({ source: '127.0.0.1', asked: reason === undefined ? {} : { reason } })),
    );
  });

  test('names an instance that was not seen for 30 seconds until it is forgotten, and forgets none that lives', async () => {
    const inspected = await inspect();
    await inspected.addGone('gone/1', 'gone/2');
    expect(await overview(inspected)).toMatch(
      /^✕ Instance gone\/1 was last seen 40.* ✕ Instance gone\/2 was last seen/,
    );
    const forget = (name: string) =>
      inspected.raw(`/api/instances/${encodeURIComponent(name)}`, { method: 'DELETE' });
    expect(await forget('gone/1')).toMatchObject({ status: 200, body: '{"forgotten":"gone/1"}' });
    expect((await inspected.post('/instances/gone%2F2')).status).toBe(303);
    expect(await overview(inspected)).toMatch(/^✓ All is well/);
    await eventually('it has reported', async () => (await inspected.api('/stats')).instances.length === 1);
    const [{ name }] = (await inspected.api('/stats')).instances;
    expect([(await forget(name)).status, (await forget('gone/1')).status]).toEqual([409, 404]);
    await inspected.addGone(name); // as where its disk is full
    expect(await overview(inspected)).toMatch(/^✓ All is well/);
  });

  test('says what came last, when that was before a restart, or its count was lost', async () => {
    const database = await testDatabase(await temporaryDirectory());
    const first = await inspect({ media_available() {} }, database.env);
    for (const event of ['media_available', 'media_updated']) await first.deliver(notification({ event }));
    await first.settled();
    await first.service.stop();
    const second = await inspect({ media_available() {} }, database.env);
    expect(await overview(second)).toMatch(/All is well.* The newest event came/);
    const figures = { accepted: 2, handled: 1, skipped: 1, failed: 0, rejected: 0 }; // one has no handler
    expect((await second.api('/stats')).figures).toMatchObject(figures);
    const third = await inspect({ media_available() {} });
    await third.service.store.queue.record(verified({}));
    await third.settled();
    expect(await overview(third)).toMatch(/All is well.* The newest event came [\d.]+ m?s ago/);
    await second.service.stop();
    await database.remove();
  });

  test('names a webhook in use whose only secret ends within a day, until it has another one', async () => {
    const inspected = await inspect({ media_available() {} });
    const { store } = inspected.service;
    await store.secrets.retire(WEBHOOK, SECRET, Date.now() + 7_200_000);
    expect(await overview(inspected)).toMatch(/^✓ All is well/); // as after a rotation
    await inspected.deliver(notification());
    await inspected.settled();
    expect(await overview(inspected)).toMatch(`! The only secret of webhook ${WEBHOOK} ends in 1 h 59 min`);
    await store.secrets.add(WEBHOOK, RIGHT);
    expect(await overview(inspected)).toMatch(/^✓ All is well/);
  });
});
