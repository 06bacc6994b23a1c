import { describe, expect, test } from '@jest/globals';
import { handlers } from '../../src/demo/handlers.ts';
import type { Handlers } from '../../src/dispatch/handler.ts';
import { handlersAtWork } from '../support/handlers-at-work.ts';

const work = handlersAtWork();
const announcements = () => work().log.withMessage('media can be published: announcing it').length;
const announced = () => work().log.withMessage('media is announced');

/** The handlers, but media_available fails after its work until it was called so many times. */
function failingAfterwards(times: number): Handlers {
  let calls = 0;
  return {
    ...handlers,
    async media_available(event, ctx) {
      await handlers.media_available?.(event, ctx);
      if (++calls <= times) throw new Error('the rest of the work failed');
    },
  };
}

describe('media_available', () => {
  test('announces once, when the handler fails afterwards and is tried again, with one result for all attempts', async () => {
    const { record, runAll, event } = work();
    const id = await record();
    await runAll(failingAfterwards(3));
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 4 });
    expect(announcements()).toBe(1);
    expect(announced()).toHaveLength(4);
    expect(new Set(announced().map(({ announcedAt }) => announcedAt)).size).toBe(1);
  });

  test('announces once, when the event is replayed twice, and again only when its steps are reset', async () => {
    const { record, runAll, event, store } = work();
    const id = await record();
    await runAll(handlers);
    for (let replay = 0; replay < 2; replay++) {
      await store.replay({});
      await runAll(handlers);
    }
    expect(await event(id)).toMatchObject({ status: 'handled', replays: 2 });
    expect(announced()).toHaveLength(3);
    expect(announcements()).toBe(1);
    await store.replay({}, { resetSteps: true });
    await runAll(handlers);
    expect(announcements()).toBe(2);
  });

  test('announces once, when the same event is delivered again, before and after it was handled', async () => {
    const { record, runAll } = work();
    for (let delivery = 0; delivery < 3; delivery++) await record();
    await runAll(handlers);
    await record();
    await runAll(handlers);
    expect(announcements()).toBe(1);
  });

  test('announces each, when several media become available together', async () => {
    const { record, runAll } = work();
    for (const media_id of ['m1', 'm2', 'm3']) await record({ media_id });
    await runAll(handlers);
    expect(announcements()).toBe(3);
  });
});
