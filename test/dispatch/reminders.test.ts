import { expect, test } from '@jest/globals';
import type { HandlerContext, Handlers, Reminder } from '../../src/dispatch/handler.ts';
import { retry } from '../../src/dispatch/outcome.ts';
import { eachWithStage } from './stage.ts';

const stage = eachWithStage();
const MINUTE = 60_000;

/** An incident that closes five minutes after its channel went idle, unless that is back. */
function incidents() {
  const seen: string[] = [];
  const note = (what: string, ctx: HandlerContext) =>
    void seen.push(`${what} ${ctx.origin} ${ctx.attempt} ${new Date(ctx.now()).toISOString().slice(14, 19)}`);
  const handlers: Handlers = {
    channel_idle: (event, ctx) => ctx.remind('close', { after: 5 * MINUTE, data: { site: event.site_id } }),
    channel_active: (_, ctx) => ctx.forget('close'),
    reminder: ({ name, data, channel_id }: Reminder, ctx) =>
      note(`${name} ${channel_id} ${JSON.stringify(data)}`, ctx),
  };
  return { handlers, seen };
}

test('a reminder comes to its handler when it is due, in whichever process; one that is forgotten does not', async () => {
  const { start, record, pass } = stage();
  const { handlers, seen } = incidents();
  await start(handlers);
  const idle = (channel_id: string) =>
    record({ event: 'channel_idle', channel_id, media_id: undefined } as never);
  const first = await idle('one');
  await idle('two');
  await pass(2 * MINUTE);
  await record({ event: 'channel_active', channel_id: 'two', media_id: undefined } as never);
  await start(handlers);
  await pass(4 * MINUTE);
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatch(/^close one \{"site":".+"\} reminder 1/);
  expect(first).toBeDefined();
});

test("a schedule runs at its times, once in all processes, with retries, and a provider's kind of the same name goes to unknown", async () => {
  const { start, record, pass, store } = stage();
  const seen: string[] = [];
  const app = {
    schedule: {
      digest: {
        every: '1m',
        run: ({ name, due_at }: { name: string; due_at: string }, ctx: HandlerContext) => {
          seen.push(`${name} ${due_at.slice(14, 16)} ${ctx.attempt}`);
          if (ctx.attempt < 2) return retry({ after: 1000, reason: 'not yet' });
        },
      },
    },
  };
  const handlers: Handlers = { unknown: (event) => void seen.push(`unknown ${event.event}`) };
  await start(handlers, {}, app);
  await start(handlers, {}, app);
  await record({ event: 'reminder' });
  await record({ event: 'schedule:digest' });
  await pass(3 * MINUTE + 5000);
  expect(seen.filter((one) => one.startsWith('unknown')).sort()).toEqual([
    'unknown reminder',
    'unknown schedule:digest',
  ]);
  expect(seen.filter((one) => one.startsWith('digest'))).toHaveLength(6);
  expect(await store.queue.count({ kind: 'schedule:digest', status: 'handled', origins: ['schedule'] })).toBe(
    3,
  );
});
