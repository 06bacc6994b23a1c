import { appendFileSync } from 'node:fs';
import { defineApp, defineHandlers, fail, type HandlerContext } from '../../../src/index.ts';

/** Whose handler ran for which event, a line each. */
function tell({ subscriber, id }: HandlerContext): void {
  if (process.env.RUNS) appendFileSync(process.env.RUNS, `${subscriber || 'main'} ${id}\n`);
}

const search = defineHandlers({
  async media_available(_event, ctx) {
    tell(ctx);
    ctx.state.set('indexed', (ctx.state.get<number>('indexed') ?? 0) + 1);
  },
  media_deleted: (_event, ctx) => tell(ctx),
});

const captions = defineHandlers({
  media_available: () => fail('captions answered 503'),
});

/** An app with two subscribers, one of which gives its events up. */
export const app = defineApp({
  handlers: { media_created: (_event, ctx) => tell(ctx), media_available: (_event, ctx) => tell(ctx) },
  subscribers: { search: { handlers: search }, captions: { handlers: captions } },
});
