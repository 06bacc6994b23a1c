import { defineHandlers, fail, skip } from '../../../src/index.ts';

/** What somebody has changed in these handlers. */
const CHANGED = (process.env.CHANGED ?? '').split(' ');

/** Handlers whose events end in each way. Of channels, they keep what came last, which is wrong where something comes late. */
export const handlers = defineHandlers({
  media_created(_event, ctx) {
    if (ctx.attempt === 1 && !CHANGED.includes('attempts')) throw new Error('the CMS is down');
  },
  media_available: (_event, ctx) => ctx.state.set('page', CHANGED.includes('state') ? '/new' : '/old'),
  media_updated: () =>
    skip(`${CHANGED.includes('reason') ? 'not now' : 'not for us'}\nin ${import.meta.url}`),
  media_deleted: () => (CHANGED.includes('status') ? fail('no such page') : undefined),
  channel_active: ({ event }, ctx) => ctx.state.set('is', event),
  channel_idle: ({ event }, ctx) => ctx.state.set('is', event),
  track_created: (_event, ctx) => (ctx.attempt > 1 ? fail('it has run before') : undefined),
});
