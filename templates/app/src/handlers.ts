import { defineHandlers } from 'webhook-receiver-kit';

// A handler gets one event, already verified and on disk. Return nothing when the work is done; skip(reason),
// retry({ after, reason }) or fail(reason) when it is not; or throw: then it runs again later. An event whose kind has no handler
// ends as skipped. Your editor completes the kinds.
export const handlers = defineHandlers({
  async media_available(event, ctx) {
    // A retry or a replay runs the whole handler again. What must not happen twice stands in ctx.once: it runs until it has
    // succeeded, and from then on its stored result is returned.
    const notice = await ctx.once('announce', async () => {
      ctx.log.info({ media: event.media_id }, 'media can be published: announcing it');
      return { announcedAt: new Date().toISOString() };
    });
    ctx.log.info({ media: event.media_id, ...notice }, 'media is announced');
  },
});
