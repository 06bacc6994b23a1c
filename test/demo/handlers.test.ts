import { expect, test } from '@jest/globals';
import { handlers } from '../../src/demo/handlers.ts';
import { KINDS, kindNames } from '../../src/notification/kinds.ts';
import { handlersAtWork } from '../support/handlers-at-work.ts';

const work = handlersAtWork();

test('each kind ends as handled and the log says what happened to what; an unknown kind ends as skipped', async () => {
  const { record, runAll, event, log } = work();
  expect(Object.keys(handlers).toSorted()).toEqual(kindNames.toSorted());
  const recorded = new Map<string, string>();
  for (const kind of kindNames) {
    const ids = Object.fromEntries(KINDS[kind].ids.map((name) => [name, `${name}-of-${kind}`]));
    recorded.set(kind, await record({ media_id: undefined, ...ids, event: kind }));
  }
  const unknown = await record({ event: 'media_archived' });
  await runAll(handlers);
  for (const kind of kindNames) {
    const id = recorded.get(kind) ?? '';
    expect(await event(id)).toMatchObject({ kind, status: 'handled', attempts: 1 });
    const lines = log.lines.filter((line) => line.includes(id)).join('');
    for (const name of KINDS[kind].ids) expect(lines).toContain(`${name}-of-${kind}`);
  }
  const lastError = 'unknown kind "media_archived"';
  expect(await event(unknown)).toMatchObject({ status: 'skipped', lastError });
});

test('a channel keeps its newer state, when the older one comes late, also at a replay', async () => {
  const { record, runAll, event, store, log } = work();
  const state = (kind: 'channel_active' | 'channel_idle', minute: string) =>
    record({
      event: kind,
      media_id: undefined,
      channel_id: 'c1',
      event_time: `2024-08-29T03:${minute}:00+00:00`,
    });
  await state('channel_idle', '05');
  await runAll(handlers);
  const active = await state('channel_active', '00');
  await runAll(handlers);
  await store.replay({ ids: [active] });
  await runAll(handlers);
  const lastError = 'a newer state of channel c1 is known';
  expect(await event(active)).toMatchObject({ status: 'skipped', lastError, replays: 1 });
  const shown = log.lines.flatMap((line) => (JSON.parse(line) as { state?: string }).state ?? []);
  expect(shown).toEqual(['idle']);
});

test('a media is announced once with one result, when the rest of the handler fails, and at a replay', async () => {
  const { record, runAll, event, store, log } = work();
  let calls = 0;
  const id = await record();
  await runAll({
    ...handlers,
    async media_available(notification, ctx) {
      await handlers.media_available?.(notification, ctx);
      if (++calls <= 3) throw new Error('the rest of the work failed');
    },
  });
  await store.replay({});
  await runAll(handlers);
  expect(await event(id)).toMatchObject({ status: 'handled', replays: 1 });
  const announced = log.withMessage('media is announced').map(({ announcedAt }) => announcedAt);
  expect([announced.length, new Set(announced).size]).toEqual([5, 1]);
  const announcements = () => log.withMessage('media can be published: announcing it').length;
  expect(announcements()).toBe(1);
  await store.replay({}, { resetSteps: true });
  await runAll(handlers);
  expect(announcements()).toBe(2);
});
