import { expect, test } from '@jest/globals';
import type { HandlerContext, Handlers, Reminder } from '../../src/dispatch/handler.ts';
import { fail, retry, skip } from '../../src/dispatch/outcome.ts';
import { eachWithStage } from './stage.ts';

const stage = eachWithStage();
const MINUTE = 60_000;

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

test('a run sets its reminders whatever it returns, in its subscriber, and none if it throws or takes too long', async () => {
  const { start, record, pass } = stage();
  const seen: string[] = [];
  const ends: Record<string, (ctx: HandlerContext) => unknown> = {
    skips: () => skip('no'),
    fails: () => fail('no'),
    throws: () => Promise.reject(new Error('no')),
    hangs: ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
    retries: () => retry({ after: 90_000, reason: 'not yet' }),
  };
  const remind = (event: { media_id: string }, ctx: HandlerContext) => {
    ctx.remind('check', { after: MINUTE, data: event.media_id });
    return ends[event.media_id]?.(ctx) as undefined;
  };
  const reminder = ({ name, data }: Reminder, { subscriber }: HandlerContext) =>
    void seen.push(`${name} ${data} ${subscriber}`);
  const search = { handlers: { media_available: remind, reminder } };
  await start({ media_deleted: remind }, {}, { subscribers: { search } });
  for (const media_id of Object.keys(ends)) await record({ media_id });
  await record({ event: 'media_deleted', media_id: 'skips' }); // without a handler for its reminder
  await pass(80_000);
  expect(seen.sort()).toEqual(['check fails search', 'check retries search', 'check skips search']);
});

const YEAR = 366 * 24 * 60 * MINUTE;

test('ctx.remind takes a name of 1 to 200 characters, one time of a year ahead at most, and 8 KB of JSON', async () => {
  const { start, record, pass } = stage();
  const cases: [unknown, object, string?][] = [
    ['a'.repeat(200), { after: YEAR, data: 'x'.repeat(8190) }],
    ['past', { at: 0 }],
    ['', { after: 1 }, 'TypeError'],
    ['a'.repeat(201), { after: 1 }, 'TypeError'],
    ['more than a year', { after: YEAR + 1 }, 'TypeError'],
    ['no time', {}, 'TypeError'],
    ['two times', { after: 1, at: 1 }, 'TypeError'],
    ['no JSON', { after: 1, data: new Map() }, 'TypeError'],
    ['too large', { after: 1, data: 'x'.repeat(8191) }, 'TypeError'],
  ];
  const thrown: unknown[] = [];
  const remind = (_: unknown, ctx: HandlerContext) => {
    for (const [name, options] of cases)
      try {
        ctx.remind(name as string, options as never);
        thrown.push([name, options]);
      } catch (error) {
        thrown.push([name, options, (error as Error).name]);
      }
  };
  await start({ media_available: remind });
  await record();
  await pass(3000);
  expect(thrown).toEqual(cases);
});

test('a media has twenty reminders, whichever run set them, and a run that has ended sets none', async () => {
  const { start, record, pass } = stage();
  const seen: string[] = [];
  const errors: unknown[] = [];
  const tries = (fn: () => void) => {
    try {
      fn();
    } catch (error) {
      errors.push((error as Error).message);
    }
  };
  let later = () => {};
  await start({
    media_created(_, ctx) {
      for (let n = 1; n <= 20; n++) ctx.remind(`r${n}`, { after: MINUTE });
      ctx.forget('r20');
    },
    media_available(_, ctx) {
      for (const name of ['r1', 'r20', 'more']) tries(() => ctx.remind(name, { after: 2 * MINUTE }));
      later = () => {
        tries(() => ctx.remind('later', { after: 1 }));
        tries(() => ctx.state.set('later', 1));
      };
    },
    reminder: ({ name }) => void seen.push(name),
  });
  await record({ event: 'media_created' });
  await pass(3000);
  await record();
  await pass(3000);
  later();
  expect(errors).toEqual([
    expect.stringContaining('has 20 reminders, the most that it may have'),
    expect.stringContaining('the handler has ended'),
    expect.stringContaining('the handler has ended'),
  ]);
  await pass(MINUTE);
  expect(seen).toHaveLength(18);
  await pass(MINUTE);
  expect(seen.slice(18)).toEqual(['r1', 'r20']);
});
