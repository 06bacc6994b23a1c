import { defineApp, defineHandlers } from '../../../src/index.ts';

const MINUTE = 60_000;

/** An incident that closes after five minutes, a poll that never ends, and a digest. */
export const app = defineApp({
  handlers: defineHandlers({
    channel_idle(event, ctx) {
      ctx.remind('close', { after: 5 * MINUTE });
      if (event.channel_id === 'polled') ctx.remind('poll', { after: MINUTE });
    },
    channel_active: (_event, ctx) => ctx.forget('close'),
    reminder({ name }, ctx) {
      ctx.state.set(name, Number(ctx.state.get(name) ?? 0) + 1);
      if (name === 'poll') ctx.remind(name, { after: MINUTE });
      if (name === 'close' && process.env.CHANGED === 'close') throw new Error('the CMS is down');
    },
  }),
  schedule: { digest: { every: '1h', run: (_tick, ctx) => ctx.log.info('a digest') } },
});
