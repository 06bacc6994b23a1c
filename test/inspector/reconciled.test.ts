import { expect, test } from '@jest/globals';
import type { ExpectedNotification } from '../../src/dispatch/handler.ts';
import type { Concern } from '../../src/inspector/attention/concern.ts';
import { eventually } from '../support/eventually.ts';
import { notification, WEBHOOK } from '../support/genuine.ts';
import { inspect } from '../support/inspected-service.ts';

const seen = (media_id: string) =>
  ({ event: 'media_available', media_id, site_id: 'site1', event_time: '2023-11-14T22:30:10Z' }) as const;

let passes = 0;
/** The first pass waits for this. */
const opened = Promise.withResolvers<void>();
/** What each pass expects beside what came. */
let expected: () => readonly ExpectedNotification[] = () => [];
const reconcile = {
  every: '1s',
  most: 2,
  async *expected() {
    await opened.promise;
    passes++;
    yield* expected();
    yield seen('came');
  },
};
const inspected = await inspect({}, {}, { app: { handlers: { media_available() {} }, reconcile } });
await inspected.deliver(notification({ media_id: 'came' }));

/** What is told of a pass that expects this: as JSON, on the overview, in numbers and as sentences. */
async function told(list: typeof expected) {
  expected = list;
  const before = passes;
  const api = () => inspected.api('/reconciled');
  await eventually('two passes have begun since', () => passes > before + 1);
  const { last_pass } = await api();
  const [, line] =
    /Reconciled .*?: (.*)\./.exec((await inspected.raw('/')).body.replaceAll(/<[^>]*>/g, '')) ?? [];
  const all: readonly Concern[] = (await inspected.api('/stats')).concerns;
  const concerns = all.filter(({ fault }) => fault.startsWith('reconcile'));
  const metrics = (await inspected.raw('/metrics')).body;
  return { last_pass, line, concerns, numbers: metrics.match(/(?<=^webhook_reconcile_)\w+ \d+/gm) };
}
const OF_4 = 'Of 4 expected since \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC,';

test('what the last pass found is told on the overview, in numbers and as JSON, and as a sentence until the next one', async () => {
  expect(await inspected.api('/reconciled')).toEqual({ last_pass: null });
  expect((await inspected.raw('/metrics')).body).not.toContain('reconcile');
  opened.resolve();
  const lost = [seen('lost'), seen('kept'), { ...seen('gone'), event: 'media_deleted' } as const];

  await inspected.deliver(notification({ media_id: 'kept' }), 'a-secret-that-is-not-known-here-yet');
  const tooMany = await told(() => lost);
  const text = new RegExp(
    `${OF_4} 3 had not come, and the pass recorded none \\(2 media_available, 1 media_deleted\\); of these, 1 waits in quarantine$`,
  );
  expect(tooMany).toMatchObject({
    last_pass: { expected: 4, is_recorded: false, missing: { media_available: 2, media_deleted: 1 } },
    line: expect.stringMatching(text),
    numbers: ['expected 4', 'missing 3'],
    concerns: [{ fault: 'reconcile_too_many', grave: true, text: expect.stringMatching(text) }],
  });
  expect(tooMany.concerns[0]?.advice).toMatch(/time zone of the times .*`npx hookkit reconcile --most 3`/);

  const recorded = await told(() => [seen(`lost${passes}`), seen('came'), seen('came')]);
  const few = new RegExp(`${OF_4} 1 had not come, and the pass recorded each \\(1 media_available\\)$`);
  expect(recorded).toMatchObject({
    last_pass: { is_recorded: true, missing: { media_available: 1 } },
    line: expect.stringMatching(few),
    concerns: [{ fault: 'reconciled', grave: false, text: expect.stringMatching(few) }],
  });
  const { body: page } = await inspected.raw(`/${recorded.concerns[0]?.path}`);
  expect(page).toContain('media:lost');

  const none = await told(() => []);
  expect(none).toMatchObject({ concerns: [], numbers: ['expected 1', 'missing 0'] });
  expect(none.line).toMatch(/^Of 1 expected since .* UTC, all had come$/);
});

test('the event of a notification that came after all leads to the one that was recorded in its place', async () => {
  const [reconciled] = (await inspected.api('/events?webhook=hookkit')).events;
  expect(reconciled).toMatchObject({ origin: 'reconciled', repeats: null });
  const { resource, id } = reconciled;
  await inspected.deliver(notification({ media_id: resource.replace('media:', '') }));
  const [late] = (await inspected.api(`/events?resource=${resource}&webhook=${WEBHOOK}`)).events;
  expect(late).toMatchObject({ origin: 'notification', repeats: id });
  expect((await inspected.raw(`/events/${late.id}`)).body).toMatch(
    new RegExp(`<dt>Repeats</dt>\\s*<dd><a href="events/${id}">`),
  );
});
