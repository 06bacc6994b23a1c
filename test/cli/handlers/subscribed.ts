import { defineApp, defineHandlers } from '../../../src/index.ts';
import { handlers } from './pages.ts';

/** What somebody has changed in this app. */
const CHANGED = (process.env.CHANGED ?? '').split(' ');

const search = defineHandlers({
  media_available(_event, ctx) {
    if (ctx.attempt === 1) throw new Error('the index is down');
    ctx.state.set('indexed', 1);
  },
  media_updated() {},
});

/** The handlers of pages.ts, a search index, and captions, which nobody has at first. */
export const app = defineApp({
  handlers,
  subscribers: {
    ...(!CHANGED.includes('removed') && { search: { handlers: search } }),
    ...(CHANGED.includes('captions') && { captions: { handlers: { media_available() {} } } }),
  },
});
