import { defineHandlers } from '../index.ts';

// Yours to replace. Each handler gets one event, already verified and on disk. Return nothing when the work is done,
// skip(reason), retry({ after, reason }) or fail(reason) when it is not, or throw: then it is tried again later.
export const media = defineHandlers({
  async media_created(event, ctx) {
    ctx.log.info({ media: event.media_id }, 'media was uploaded for the first time');
  },

  async media_available(event, ctx) {
    // A retry or a replay runs the whole handler again. What must not happen twice, such as telling your audience, stands
    // in ctx.once: it runs until it has succeeded, and from then on its stored result is given back.
    const notice = await ctx.once('announce', async () => {
      ctx.log.info({ media: event.media_id }, 'media can be published: announcing it');
      return { announcedAt: new Date().toISOString() };
    });
    ctx.log.info({ media: event.media_id, ...notice }, 'media is announced');
  },

  async conversions_complete(event, ctx) {
    ctx.log.info({ media: event.media_id }, 'all initial renditions are processed');
  },

  async media_updated(event, ctx) {
    // The provider is known to send this twice for one update; the same notification twice is one event here.
    ctx.log.info({ media: event.media_id }, 'media was updated');
  },

  async media_reuploaded(event, ctx) {
    ctx.log.info(
      { media: event.media_id },
      'a reupload was initiated; media_available follows when it applies',
    );
  },

  async media_deleted(event, ctx) {
    ctx.log.info({ media: event.media_id }, 'media was deleted');
  },
});
