import { describe, expect, test } from '@jest/globals';
import { concernsOf } from '../../src/inspector/pages/attention.ts';
import { eventually } from '../support/eventually.ts';
import { notification, WEBHOOK } from '../support/genuine.ts';
import { type Inspected, inspectedForEachTest } from '../support/inspected-service.ts';
import { verified } from '../support/verified-notification.ts';

type Stats = Parameters<typeof concernsOf>[0];
const nothing = { mean: null, slowest: null };

/** What the API says of a quiet service, with some of its last ten minutes changed. */
function statsOf(recent: Partial<Stats['last_10_minutes']>, more: Partial<Stats> = {}): Stats {
  const columns = {
    ...{ times: [], accepted: [], duplicate: [], rejected: [], not_recorded: [], handled: [], failed: [] },
    ...{ ack_mean: [], ack_slowest: [], handler_mean: [], handler_slowest: [] },
  };
  return {
    instance: 'test',
    started_at: '2026-01-01T00:00:00.000Z',
    events: { pending: 0, running: 0, dead: 0 },
    oldest_pending_at: null,
    last_recorded_at: null,
    quarantined: 0,
    can_record: true,
    can_read_secrets: true,
    last_10_minutes: {
      ...{ accepted: 0, duplicate: 0, rejected: 0, not_recorded: 0, handled: 0, failed: 0 },
      ...{ refused_webhooks: [], ack_ms: nothing, handler_ms: nothing, commit_ms: nothing },
      ...recent,
    },
    last_hour: columns,
    last_day: [],
    ...more,
  };
}

const FULL = 'Nothing can be recorded';
const NONE_RECORDED = 'Nothing was recorded in the last 10 minutes: 3 requests got 503 or 500';
const SOME_NOT_RECORDED = '3 requests were not recorded in the last 10 minutes';
const NONE_IN = 'Nothing gets in: all 3 requests of the last 10 minutes were refused';
const SOME_REFUSED = '3 requests were refused in the last 10 minutes';

describe('the overview', () => {
  // Which of: accepted, duplicate, rejected, not recorded, and whether the store can commit.
  test.each([
    ['----  ok', []],
    ['A---  ok', []],
    ['--R-  ok', [`grave: ${NONE_IN}`]],
    ['A-R-  ok', [`minor: ${SOME_REFUSED}`]],
    ['---N  ok', [`grave: ${NONE_RECORDED}`]],
    ['A--N  ok', [`grave: ${SOME_NOT_RECORDED}`]],
    ['--RN  ok', [`grave: ${NONE_RECORDED}`, `grave: ${NONE_IN}`]],
    ['ADRN  ok', [`grave: ${SOME_NOT_RECORDED}`, `minor: ${SOME_REFUSED}`]],
    ['A--- not', [`grave: ${FULL}`]],
    ['ADRN not', [`grave: ${FULL}`, `grave: ${SOME_NOT_RECORDED}`, `minor: ${SOME_REFUSED}`]],
  ])('says what is wrong, and how grave it is, when this happened: %s', (what, expected) => {
    const count = (letter: string) => (what.includes(letter) ? 3 : 0);
    const stats = statsOf(
      { accepted: count('A'), duplicate: count('D'), rejected: count('R'), not_recorded: count('N') },
      { can_record: what.endsWith(' ok') },
    );
    const told = concernsOf(stats, 0);
    expect(told.map(({ grave, text }) => `${grave ? 'grave' : 'minor'}: ${text}`)).toEqual(expected);
    for (const { advice } of told) expect(advice.length).toBeGreaterThan(30);
  });
});

const inspect = inspectedForEachTest();

/** The overview as its reader sees it, on one line. */
async function overview({ url }: Inspected): Promise<string> {
  const html = await (await fetch(url)).text();
  const concerns = /<section aria-label="What needs attention">(.*?)<\/section>/s.exec(html)?.[1] ?? '';
  return concerns
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
      /All is well\. No event is dead, .* 1 came in the last 10 minutes, and none was refused/,
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
    await inspected.service.store.addSecret('hookTwo2', 'another-secret-of-thirty-two-bytes');
    await inspected.deliver(notification());
    await send(inspected, 'hookTwo2', 'a', 'b', 'c');
    await send(inspected, 'madeUp99', 'a', 'b', 'c');
    await shows(inspected, /Nothing of webhook hookTwo2 gets in: 3 requests were refused, and none accepted/);
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
    await shows(inspected, new RegExp(`Nothing gets in.*Nothing of webhook ${WEBHOOK} gets in: 3 requests`));
    await inspected.service.store.addSecret(WEBHOOK, RIGHT);
    await shows(inspected, /^! 3 requests were refused in the last 10 minutes/);
    await inspected.deliver(notification({ media_id: 'd' }), 'a-forgery');
    await shows(inspected, /^! 4 requests were refused .* Look at the reasons/);
  });

  test('is not alarmed, when another process takes in what this one refuses', async () => {
    const inspected = await inspect();
    await send(inspected, WEBHOOK, 'a', 'b', 'c');
    await shows(inspected, /Nothing gets in/);
    await inspected.service.store.record(verified({ webhook_id: WEBHOOK }));
    await shows(inspected, /^! 3 requests were refused .* Look at the reasons/);
    const { last_10_minutes: recent } = await inspected.api('/stats');
    expect(recent).toMatchObject({ rejected: 3, refused_webhooks: [] });
  });
});
