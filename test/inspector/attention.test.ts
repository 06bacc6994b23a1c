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
const NONE_IN = `Nothing gets in: ${SOME_REFUSED}`;

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
    ['----  ok', []],
    ['A---  ok', []],
    ['--R-  ok', [`minor: ${NONE_IN}`]],
    ['A-R-  ok', [`minor: ${SOME_REFUSED}`]],
    ['---N  ok', [`grave: ${SOME_NOT_RECORDED}`]],
    ['A--N  ok', [`grave: ${SOME_NOT_RECORDED}`]],
    ['--RN  ok', [`grave: ${SOME_NOT_RECORDED}`, `minor: ${NONE_IN}`]],
    ['ADRN  ok', [`grave: ${SOME_NOT_RECORDED}`, `minor: ${SOME_REFUSED}`]],
    ['A--- not', [`grave: ${FULL}`]],
    ['ADRN not', [`grave: ${FULL}`, `minor: ${SOME_REFUSED}`]],
  ])('says what is wrong, and how grave it is, when this happened: %s', (what, expected) => {
    const count = (letter: string) => (what.includes(letter) ? 3 : 0);
    const counts = { accepted: count('A'), duplicate: count('D'), rejected: count('R') };
    const problem = what.endsWith(' ok') ? undefined : 'database or disk is full';
    expect(told({ problem }, { ...counts, not_recorded: count('N') })).toEqual(expected);
  });

  test('says nothing more, when what was wrong is over', () => {
    const over = { latest: quiet.latest, notRecordedAt: ago(95_000) };
    expect(told(over, { accepted: 50, rejected: 30, not_recorded: 5 })).toEqual([]);
  });

  test('names no webhook of which nothing gets in, while clocks of instances differ', () => {
    const accepted = [{ webhookId: 'hook0001', receivedAt: ago(60_000) }];
    const refusals = [refused('hook0001', 10, 1)];
    const counts = { rejected: 3, accepted: 3 };
    expect(told({ accepted, refusals }, counts)).toEqual([
      expect.stringMatching(/^grave: Nothing of webhook hook0001 gets in/),
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

  const holding = (count: number, subscriber = '') => ({
    held: [
      { instance: 'A', subscriber, kind: 'media_available', siteId: 'site1', count, since: ago(720_000) },
    ],
  });
  const flaw = (fault: string) => ({
    disk: {
      bytes: 1,
      flaw: { fault, text: `of ${fault}`, advice: 'end it, or put it back to where it was' },
    },
  });
  const disk = (free: number, room: string) => ({ disk: { bytes: 1, free, room } });
  const overview = (more: object) => ({ overview: { ...quiet.overview, ...more } });
  const ready = (ms: number, more: object = {}, of = '') =>
    overview({ subscribers: { '': {}, [of]: { oldestReadyAt: ago(ms) } }, ...more });
  const having = (...kinds: string[]) => ({ lives: [{ ...present(quiet.lives[0]), kinds }] });
  const paused = { reason: 'x', by: 'me', since: ago(0) };
  test.each([
    ['the disk has little room', 'minor: The disk .* 512 MiB left', () => disk(GIB / 2, 'scarce')],
    ['the disk has hardly any', 'grave: The disk .* 51 MiB left', () => disk(GIB / 20, 'none')],
    ['nobody knows of the disk', '', () => ({ disk: { bytes: 1 } })],
    ['no handler comes', 'grave: An event has been ready for 1 min', () => ready(90_000)],
    ['handlers come soon', '', () => ready(50_000)],
    ['handling is paused', 'grave: .*paused.*by me: x', () => ready(90_000, { paused })],
    ['the key was changed', 'grave: The stored secrets .* read: wrong key', () => ({ secrets: 'wrong key' })],
    [
      'their table is locked',
      'minor: The stored secrets .* than three seconds',
      () => ({ secrets: undefined }),
    ],
    [
      'no handler comes, by a clock that is off',
      'grave: The clock of instance',
      () => ({ ...ready(90_000), lives: [{ ...present(quiet.lives[0]), aheadMs: -7_200_000 }] }),
    ],
    [
      'places are held, and nobody takes up what is ready',
      'grave: Handlers past their time hold 60 places of instance A: media_available of site site1 .60., the first for 12 min',
      () => ({ ...holding(60), ...ready(90_000) }),
    ],
    [
      'one of its own is held',
      'grave: Handlers past their time hold 1 of 64 places of instance A',
      () => ({ ...holding(1), instance: 'A' }),
    ],
    [
      'one of a subscriber is held',
      'grave: Handlers past their time hold 1 of 64 places of subscriber search of instance A',
      () => ({ ...holding(1, 'search'), instance: 'A' }),
    ],
    [
      'a subscriber takes up none',
      'grave: An event of subscriber search has been ready for 1 min',
      () => ({ ...ready(90_000, {}, 'search'), ...having('media_available@search') }),
    ],
    [
      'no process has its subscriber',
      '',
      () => ({ ...ready(90_000, {}, 'search'), ...having('media_available') }),
    ],
    ['the key is gone', 'grave: of key_gone', () => ({ ...flaw('key_gone'), secrets: undefined })],
    ['a transaction is open', 'minor: of open_transaction', () => flaw('open_transaction')],
    ['no server runs', 'grave: No server runs', () => ({ instance: null, lives: [] })],
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
  test('says that all is well, when nothing came and when something was accepted, and how much', async () => {
    const inspected = await inspect({ media_available() {} });
    expect(await overview(inspected)).toMatch(/All is well\. Nothing has come in yet/);
    await inspected.deliver(notification());
    await inspected.settled();
    expect(await overview(inspected)).toMatch(
      /All is well\. No event is dead, .* The newest notification came [\d.]+ m?s ago/,
    );
  });

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
      /^✕ Nothing of webhook hookTwo2 gets in: 10 requests were refused and none accepted in the last .*: bad signature /;
    await shows(inspected, sentence);
    expect(await overview(inspected)).toMatch(/import --id hookTwo2 .* A forger who knows the id/);
    expect(await overview(inspected)).not.toMatch(/madeUp99|Nothing gets in/);
    await inspected.deliver(
      notification({ webhook_id: 'hookTwo2', media_id: 'd' }),
      'another-secret-of-thirty-two-bytes',
    );
    expect(await overview(inspected)).not.toContain('hookTwo2');
  });

  test('is no longer alarmed, when the right secret has come and admitted what was refused, and forgeries follow', async () => {
    const inspected = await inspect();
    await send(inspected, WEBHOOK, ...MANY);
    await shows(inspected, new RegExp(`^✕ Nothing of webhook ${WEBHOOK} gets in: 10 requests`));
    await inspected.service.store.secrets.add(WEBHOOK, RIGHT);
    await shows(inspected, /^! 10 requests were refused in the last 10 minutes/);
    await inspected.deliver(notification({ media_id: 'z' }), 'a-forgery');
    await shows(inspected, /^! 11 requests were refused .* import the right one/);
  });

  test('counts in a row what all processes refuse, and a duplicate that another process accepts sets the row back', async () => {
    const database = await testDatabase(await temporaryDirectory());
    const one = await inspect({}, database.env);
    const other = await inspect({}, database.env);
    await one.deliver(notification());
    await send(one, WEBHOOK, ...MANY.slice(1));
    expect(await overview(one)).not.toContain('✕');
    expect(await (await other.deliver(notification())).json()).toMatchObject({ status: 'duplicate' });
    await other.api('/stats');
    await send(one, WEBHOOK, ...MANY.slice(1));
    expect(await overview(one)).not.toContain('✕');
    await send(other, WEBHOOK, 'a');
    await other.api('/stats');
    await shows(one, new RegExp(`^✕ Nothing of webhook ${WEBHOOK} gets in: 10 requests`));
    for (const { service } of [one, other]) await service.stop();
    await database.remove();
  });

  const ofMany = (count: number, inARow: number) =>
    Array.from({ length: count }, (_, n) => refused(`many${n}`, inARow, 130));
  const none = 'Nothing of webhook';
  const both = /2 requests .*: claims differ.*The signature is right, and so is the secret/;
  test.each([
    [
      'two of a webhook, the first of them two minutes ago',
      () => [refused(WEBHOOK, 2, 130)],
      `✕ ${none} ${WEBHOOK} gets in`,
    ],
    ['two within a minute', () => [refused(WEBHOOK, 2, 60)], '✓'],
    ['one long ago', () => [refused(WEBHOOK, 1, 400)], '✓'],
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
      '✕ Nothing of 10 webhooks gets in: 10 requests were refused',
    ],
    ['some of each of four', () => ofMany(4, 2), '✕ Nothing of 4 webhooks gets in'],
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

  test('names the errors of handlers that fail, gravely after two minutes, and says that all is well once nobody waits for them', async () => {
    const ahead = { ms: 0 };
    const media_available = () => {
      throw new Error('archive 17 is down');
    };
    const inspected = await inspect(
      { media_available },
      { RETRY_BASE_MS: '600000' },
      { clock: aheadOf(ahead), wrap: withOneClock },
    );
    await inspected.deliver(notification());
    await inspected.deliver(notification({ media_id: 'UUhbHm6D' }));
    await shows(
      inspected,
      /^! 2 events fail \(site jsPxIVHl, for .* m?s\): Error: archive \* is down \(2\) Correct the cause/,
    );
    ahead.ms = 150_000;
    expect(await overview(inspected)).toMatch(/^✕ 2 events fail \(site jsPxIVHl, for 2 min\)/);
    await inspected.service.store.queue.dismiss({}, 'nobody needs them');
    expect(await overview(inspected)).toMatch(/^✓ All is well/);
  });

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
      /^✕ Handlers past their time hold 2 of 2 places of instance \S+: media_available of site jsPxIVHl \(2\), the first for 12 min They ignore ctx.signal: only a restart/,
    );
    expect(await overview(inspected)).not.toContain('no handler takes it up');
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
    expect(await overview(second)).toMatch(/All is well.* The newest notification came/);
    const figures = { accepted: 2, handled: 1, skipped: 1, failed: 0, rejected: 0 }; // one has no handler
    expect((await second.api('/stats')).figures).toMatchObject(figures);
    const { times, received } = await second.api('/series'); // from the first minute with data on
    expect([times.length <= 2, times[0] % 60, received[0] > 0]).toEqual([true, 0, true]);
    const third = await inspect({ media_available() {} });
    await third.service.store.queue.record(verified({}));
    await third.settled();
    expect(await overview(third)).toMatch(/All is well.* The newest notification came [\d.]+ m?s ago/);
    await second.service.stop();
    await database.remove();
  });
});
