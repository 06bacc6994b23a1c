import { trace } from '@opentelemetry/api';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { defineApp, defineHandlers, fail, type HandlerContext, retry, skip } from '../../src/index.ts';

/** Each media has an end of its own, by its id. */
const ends: Readonly<Record<string, (ctx: HandlerContext) => unknown>> = {
  async whole(ctx) {
    await ctx.once('mail', () => 1);
    ctx.state.set('views', 3);
    ctx.remind('soon', { after: 1000, data: { page: 1 } });
  },
  reminding: (ctx) => ctx.remind('check', { after: 86_400_000, data: { page: 2 } }),
  unwanted: () => skip('not for the shop'),
  refused: () => fail('the shop has no such media'),
  mistaken: () => fail('the shop has no such media'),
  async failing(ctx) {
    await ctx.once('mail', () => 2);
    ctx.log.info('the shop is asked');
    throw new Error('the shop answered 503', { cause: new Error('connect ECONNREFUSED') });
  },
  asking: () => retry({ after: 1_800_000, reason: 'no subtitles yet' }),
  stuck: ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
};

const search = defineHandlers({
  media_available({ media_id: id }, ctx) {
    if (id === 'failing') throw new Error('the index is read only');
    ctx.state.set('indexed', true);
  },
});

const { EVERY: every = '1d' } = process.env;
if (every === '1s') trace.setGlobalTracerProvider(new TracerProvider());
const missed = { event: 'media_updated', media_id: 'missed', site_id: 'site0001' } as const;
const event_time = new Date(Date.now() - 3_600_000);

/** The app of the receivers that fill the databases of a release. It uses all that a database has a table for. */
export const app = defineApp({
  handlers: {
    media_available: ({ media_id: id }, ctx) => ends[id]?.(ctx) as Promise<void>,
    media_updated() {},
    track_created: () => new Promise(() => {}),
    channel_active() {},
    reminder() {},
  },
  subscribers: { search: { handlers: search } },
  limits: { track_created: 1 },
  schedule: { digest: { every, run: (tick, ctx) => ctx.state.set('last', tick.due_at) } },
  reconcile: {
    every,
    async *expected() {
      yield { ...missed, event_time };
    },
  },
});
