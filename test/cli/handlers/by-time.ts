import { defineApp, retry } from '../../../src/index.ts';

const MINUTE_MS = 60_000;
const { now } = Date; // as libraries keep it
const never = () => new Promise<void>(() => {});

/** Handlers that look at the global time and wait by global timers, and some that never end. */
export const app = defineApp({
  handlers: {
    media_created({ event_time }, ctx) {
      const due = Date.parse(event_time) + 5 * MINUTE_MS;
      if (Date.now() < due) return retry({ after: MINUTE_MS, reason: 'not yet' });
      ctx.state.set('published', [new Date().toISOString().slice(0, 16), now() === ctx.now()]);
    },
    async channel_created(_event, ctx) {
      const began = Date.now();
      const ticks: number[] = [];
      const ticking = setInterval(() => ticks.push(Date.now() - began), 4000);
      await new Promise((resolve) => setTimeout(resolve, 10_000));
      clearInterval(ticking);
      ctx.state.set('waited', [...ticks, Date.now() - began]);
    },
    async media_updated(_event, ctx) {
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), 5000);
      const answer = await fetch(process.env.SYSTEM_URL ?? '', { signal: abort.signal });
      clearTimeout(timer);
      ctx.state.set('answer', await answer.text());
    },
    channel_active: never,
    channel_idle() {},
  },
  subscribers: {
    search: { handlers: { channel_idle: (_event, ctx) => ctx.once('index', never) } },
  },
});
