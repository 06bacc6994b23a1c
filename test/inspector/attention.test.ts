import { beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { type Known, lookAt } from '../../src/inspector/api/stats.ts';
import { concernsOf, stats } from '../../src/inspector/attention/attention.ts';
import { Watch } from '../../src/inspector/watch/watch.ts';
import { testDatabase } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, notification, WEBHOOK } from '../support/genuine.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { type Inspected, inspectedForEachTest } from '../support/inspected-service.ts';
import { present } from '../support/only.ts';
import { receiversForEachTest, withOneClock } from '../support/receiver-fixture.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verified } from '../support/verified-notification.ts';

const inspect = inspectedForEachTest();
const start = receiversForEachTest();

const ago = (ms: number) => Date.now() - ms;
const GIB = 1024 ** 3;
const FULL = 'Nothing can be recorded: database or disk is full';
const SOME_NOT_RECORDED = '3 requests were not recorded in the last 2 minutes';
const SOME_REFUSED = '3 requests were refused in the last 10 minutes: no token';
const NONE_IN = `No notification gets in: ${SOME_REFUSED}`;

describe('the overview', () => {
  let quiet: Known;
  beforeAll(async () => {
    const { store } = (await inspect()).service;
    quiet = await lookAt({ store, config: parseConfig({}), clock: systemClock });
  });
  const told = (more: object, counts: Partial<Known['recent']> = {}) => {
    const recent = { ...quiet.recent, ...counts };
    const refusals = [refused('', 0, 0, 'no_token')];
    const notRecordedAt = recent.not_recorded > 0 ? ago(0) : 0;
    const found = concernsOf({
      ...quiet,
      now: Date.now(),
      recent,
      latest: recent,
      refusals,
      notRecordedAt,
      ...more,
    });
    for (const { advice } of found) expect(advice.length).toBeGreaterThan(30);
    return found.map(({ grave, text }) => `${grave ? 'grave' : 'minor'}: ${text}`);
  };

  // Which of: accepted, duplicate, rejected, not recorded, and whether the store can commit.
  test.each([
    ['--R-  ok', [`minor: ${NONE_IN}`]],
    ['A-R-  ok', [`minor: ${SOME_REFUSED}`]],
    ['--RN  ok', [`grave: ${SOME_NOT_RECORDED}`, `minor: ${NONE_IN}`]],
    ['A--- not', [`grave: ${FULL}`]],
  ])('says what is wrong, and how grave it is, when this happened: %s', (what, expected) => {
    const count = (letter: string) => (what.includes(letter) ? 3 : 0);
    const counts = { accepted: count('A'), duplicate: count('D'), rejected: count('R') };
    const problem = what.endsWith(' ok') ? undefined : 'database or disk is full';
    expect(told({ problem }, { ...counts, not_recorded: count('N') })).toEqual(expected);
  });

  test('names no webhook of which nothing gets in, while clocks of instances differ', () => {
    const accepted = [{ webhookId: 'hook0001', receivedAt: ago(60_000) }];
    const refusals = [refused('hook0001', 10, 1)];
    const counts = { rejected: 3, accepted: 3 };
    expect(told({ accepted, refusals }, counts)).toEqual([
      expect.stringMatching(/^grave: No notification of webhook hook0001 gets in/),
    ]);
    const lives = [{ ...present(quiet.lives[0]), name: 'other', aheadMs: -7_200_000 }];
    expect(told({ accepted, refusals, lives }, counts)).toEqual([
      expect.stringMatching('2 h 0 min behind'),
      'minor: 3 requests were refused in the last 10 minutes: bad signature',
    ]);
  });

  const failed = (error: string, count: number, ms: number, siteId = 'site1') => {
    return { error, subscriber: '', kind: 'media_available', siteId, count, failedSince: ago(ms) };
  };
  test('says of a site how many events fail and why, the first of its errors: grave after two minutes', () => {
    const failing = ['a', 'b', 'b', 'c', 'd', 'b'].map((error, n) => failed(error, 100 - n, 110_000 - n));
    const text = '585 events fail (site site1, for 1 min): a (100), b (292), c (97), 1 more';
    expect(told({ failing })).toEqual([`minor: ${text}`]);
    expect(told({ failing: [...failing, failed('b', 1, 130_000)] })).toEqual([
      'grave: 586 events fail (site site1, for 2 min): a (100), b (293), c (97), 1 more',
    ]);
  });

  test('says of three sites what fails there, of those that have failed for longest, and of the others together', () => {
    const failing = [1, 2, 3, 4, 5].map((n) => failed('a', n, n * 50_000, `s${n}`));
    expect(told({ failing })).toEqual([
      'grave: 5 events fail (site s5, for 4 min): a (5)',
      'grave: 4 events fail (site s4, for 3 min): a (4)',
      'grave: 3 events fail (site s3, for 2 min): a (3)',
      'minor: 3 events fail (2 other sites, for 1 min): a (3)',
    ]);
    const rest = concernsOf({ ...quiet, failing } as unknown as Known).map(
      ({ fault, of }) => `${fault} ${of}`,
    );
    expect(rest).toEqual(['failing s5', 'failing s4', 'failing s3', 'failing ']);
  });

  const held = { instance: 'A', subscriber: 'search', kind: 'media_available', siteId: 'site1' };
  const disk = (free: number, room: string) => ({ disk: { bytes: 1, free, room } });
  const ready = (ms: number) => ({
    overview: { ...quiet.overview, subscribers: { '': { oldestReadyAt: ago(ms) } } },
  });
  const silent = (minutes: number, longestMs?: number) => ({
    silence: { lastAt: ago(minutes * 60_000), longestMs, firstAt: 1 },
  });
  const MISSED = { beganAt: 1, since: 0, expected: 2, missing: { media_created: 1 }, quarantined: 0 };
  test.each([
    ['the disk has little room', 'minor: The disk .* 512 MiB left', () => disk(GIB / 2, 'scarce')],
    ['the disk has hardly any', 'grave: The disk .* 51 MiB left', () => disk(GIB / 20, 'none')],
    ['no handler comes', 'grave: An event has been ready for 1 min', () => ready(90_000)],
    ['handlers come soon', '', () => ready(50_000)],
    ['the key was changed', 'grave: The stored secrets .* read: wrong key', () => ({ secrets: 'wrong key' })],
    [
      'no handler comes, by a clock that is off',
      'grave: The clock of instance',
      () => ({ ...ready(90_000), lives: [{ ...present(quiet.lives[0]), aheadMs: -7_200_000 }] }),
    ],
    ['one an hour is a minute late', '', () => silent(61.5, 3_600_000)],
    [
      'one an hour does not come',
      'minor: No notification has come for 1 h 3 min; the longest',
      () => silent(63, 3_600_000),
    ],
    ['a database has no statistics of the week before', '', () => silent(9000)],
    ['an app that reconciled does so no more', '', () => ({ pass: MISSED })],
    [
      'one of a subscriber is held',
      'grave: Handlers past their time-out hold 1 of 64 places of subscriber search of instance A',
      () => ({ held: [{ ...held, since: ago(720_000) }], instance: 'A' }),
    ],
  ] as const)('says, when %s: %s', (_what, expected, more) => {
    expect(told(more())).toEqual(expected === '' ? [] : [expect.stringMatching(`^${expected}`)]);
  });
});

/** Refused requests of a webhook, in a row since some seconds ago. */
function refused(webhookId: string, inARow: number, secondsAgo: number, reason = 'bad_signature') {
  const at = ago(secondsAgo * 1000);
  const times = { firstAt: at, lastAt: Math.max(at, ago(60_000)), rowSince: at };
  return { reason, webhookId, network: '203.0.113.0/24', count: inARow, inARow, ...times };
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

test('nothing is wrong, when a receiver that stops has refused a notification', async () => {
  const watch = new Watch(systemClock);
  const { app, store, log } = await start({ phase: 'closed', observer: watch });
  expect((await deliver(app, notification())).status).toBe(503);
  const sources = { store, config: parseConfig({}), clock: systemClock };
  const end = watch.keepReporting({ ...sources, log: log.log, kinds: [], running: () => 0 });
  expect(await stats({ ...sources, watch })).toMatchObject({ concerns: [], figures: { not_recorded: 0 } });
  await end();
});

describe('the overview of a running service', () => {
  test('says that requests were not recorded, until a later minute has one that was', async () => {
    const inspected = await inspect();
    const minute = Date.now() - (Date.now() % 60_000);
    const happened = (result: string, minute: number) => {
      const instance = { name: 'another', version: '1', startedAt: 0, running: 0, kinds: [] };
      const stats = [{ minute, subscriber: '', kind: '', result, count: 3, ms: 1, slowest: 1 }];
      return inspected.service.store.reports.report({ instance, stats, refusals: [] });
    };
    await happened('not_recorded', minute);
    expect(await overview(inspected)).toMatch(new RegExp(`^✕ ${SOME_NOT_RECORDED}`));
    await happened('accepted', minute + 60_000);
    expect(await overview(inspected)).toMatch(/^✓ All is well/);
  });

  const RIGHT = 'the-right-secret-of-thirty-two-bytes';
  const shows = (inspected: Inspected, what: RegExp) =>
    eventually(`the overview shows ${what}`, async () => what.test(await overview(inspected)));
  const send = async (inspected: Inspected, webhook_id: string, ...media: readonly string[]) => {
    for (const media_id of media) await inspected.deliver(notification({ media_id, webhook_id }), RIGHT);
  };

  const MANY = [...'abcdefghij'];

  test('names the webhook of which nothing gets in at the tenth in a row, when another one works, and no webhook that a stranger made up', async () => {
    const inspected = await inspect();
    await inspected.service.store.secrets.add('hookTwo2', 'another-secret-of-thirty-two-bytes');
    await inspected.deliver(notification());
    await send(inspected, 'hookTwo2', ...MANY.slice(1));
    await send(inspected, 'madeUp99', ...MANY);
    expect(await overview(inspected)).toMatch(/^! 19 requests were refused in the last 10 minutes/);
    await send(inspected, 'hookTwo2', 'a');
    const sentence =
      /^✕ No notification of webhook hookTwo2 gets in: 10 requests were refused and none accepted in the last .*: bad signature /;
    await shows(inspected, sentence);
    expect(await overview(inspected)).toMatch(/import --id hookTwo2 .* A forger who knows the id/);
    expect(await overview(inspected)).not.toMatch(/madeUp99|No notification gets in/);
    const genuine = notification({ webhook_id: 'hookTwo2' });
    const answer = await inspected.deliver(genuine, 'another-secret-of-thirty-two-bytes');
    expect(await answer.json()).toMatchObject({ status: 'duplicate' });
    expect(await overview(inspected)).not.toContain('hookTwo2');
  });

  test('is no longer alarmed, when the right secret has come and admitted what was refused, and forgeries follow', async () => {
    const inspected = await inspect();
    await send(inspected, WEBHOOK, ...MANY);
    await shows(inspected, new RegExp(`^✕ No notification of webhook ${WEBHOOK} gets in: 10 requests`));
    await inspected.service.store.secrets.add(WEBHOOK, RIGHT);
    await shows(inspected, /^! 10 requests were refused in the last 10 minutes/);
    await inspected.deliver(notification({ media_id: 'z' }), 'a-forgery');
    await shows(inspected, /^! 11 requests were refused .* import the right one/);
  });

  const ofMany = (count: number, inARow: number) =>
    Array.from({ length: count }, (_, n) => refused(`many${n}`, inARow, 130));
  const none = 'No notification of webhook';
  const both = /2 requests .*: claims differ.*The signature is right, and so is the secret/;
  test.each([
    [
      'two of a webhook, the first of them two minutes ago',
      () => [refused(WEBHOOK, 2, 130)],
      `✕ ${none} ${WEBHOOK} gets in`,
    ],
    ['two within a minute', () => [refused(WEBHOOK, 2, 60)], '✓'],
    [
      'some of a webhook with an event and no secret',
      () => [refused('recorded', 2, 130)],
      `✕ ${none} recorded`,
    ],
    ['many of a webhook that is not ours', () => [refused('madeUp99', 99, 130)], '✓'],
    ['many whose bodies were changed', () => [refused(WEBHOOK, 2, 130, 'claims_differ')], both],
    [
      'one of each of many webhooks',
      () => ofMany(10, 1),
      '✕ No notification of 10 webhooks gets in: 10 requests were refused',
    ],
  ])('says of these refusals what they mean: %s', async (_what, refusals, expected) => {
    const inspected = await inspect({ media_available() {} });
    const { store } = inspected.service;
    for (let n = 0; n < 10; n++) await store.secrets.add(`many${n}`, RIGHT);
    const instance = { name: 'another', version: '1', startedAt: 0, running: 0, kinds: [] };
    await store.queue.record(verified({ webhook_id: 'recorded' }), Date.now() - 3_600_000);
    await inspected.settled();
    await store.reports.report({ instance, stats: [], refusals: refusals() });
    expect(await overview(inspected)).toMatch(expected);
    const isImport = (await overview(inspected)).includes('import --id');
    expect(isImport).toBe(typeof expected === 'string' && expected !== '✓');
  });

  /** A clock that a test sets ahead. */
  const aheadOf = (ahead: { ms: number }) => ({ ...systemClock, now: () => systemClock.now() + ahead.ms });

  test('says how many places handlers hold past their time, while the process is ready, until they end', async () => {
    const ahead = { ms: 0 };
    const handler = new HeldHandler();
    const env = { DISPATCH_CONCURRENCY: '2', HANDLER_TIMEOUT_MS: '600000' };
    const inspected = await inspect({ media_available: handler.handle }, env, {
      clock: aheadOf(ahead),
      wrap: withOneClock,
    });
    for (const media_id of ['a', 'b', 'c']) await inspected.deliver(notification({ media_id }));
    await eventually('two run', async () => handler.running.length === 2);
    ahead.ms = 605_000;
    expect(await overview(inspected)).toMatch(/^✕ An event has been ready for 10 min/);
    ahead.ms = 720_000;
    expect(await overview(inspected)).toMatch(
      /^✕ Handlers past their time-out hold 2 of 2 places of instance \S+: media_available of site jsPxIVHl \(2\), the first for 12 min They ignore ctx.signal: only a restart/,
    );
    expect(await overview(inspected)).not.toContain('no handler has started');
    expect((await fetch(`${inspected.service.url}/readyz`)).status).toBe(200);
    await eventually('all have ended', async () => {
      for (const run of handler.running) run.end();
      return handler.runs.length === 3 && handler.running.length === 0;
    });
    await shows(inspected, /^✓ All is well/);
  });

  test('says by whom and why handling is paused, and forms and API pause and resume it, with a line in the log', async () => {
    const inspected = await inspect({ media_available() {} });
    expect((await inspected.post('/pause', { reason: ' ' })).status).toBe(400);
    expect((await inspected.post('/pause', { reason: 'the archive moves' })).status).toBe(303);
    await inspected.deliver(notification());
    expect(await overview(inspected)).toMatch(
      /^✕ Handling has been paused for .*, by inspector at 127.0.0.1: the archive moves/,
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
      by: 'inspector at 127.0.0.1',
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

  test('says what came last, when that was before a restart', async () => {
    const database = await testDatabase(await temporaryDirectory());
    const first = await inspect({ media_available() {} }, database.env);
    for (const event of ['media_available', 'media_updated']) await first.deliver(notification({ event }));
    await first.settled();
    await first.service.stop();
    const second = await inspect({ media_available() {} }, database.env);
    expect(await overview(second)).toMatch(/All is well.* The newest notification came/);
    const figures = { accepted: 2, handled: 1, skipped: 1, failed: 0, rejected: 0 }; // one has no handler
    expect((await second.api('/stats')).figures).toMatchObject(figures);
    const { times, received } = await second.api('/series'); // from the first minute with data on
    expect([times.length <= 2, times[0] % 60, received[0] > 0]).toEqual([true, 0, true]);
    await second.service.stop();
    await database.remove();
  });
});
