import { combineHandlers, defineHandlers, type HandlerContext, type Outcome, skip } from '../index.ts';

// The handlers of the demo and of the commands' tests. They are independent of src/handlers/.

const media = defineHandlers({
  async media_created(event, ctx) {
    ctx.log.info({ media: event.media_id }, 'media was uploaded for the first time');
  },

  async media_available(event, ctx) {
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
    ctx.log.info({ media: event.media_id }, 'media was updated');
  },

  async media_reuploaded(event, ctx) {
    ctx.log.info({ media: event.media_id }, 'a reupload was initiated');
  },

  async media_deleted(event, ctx) {
    ctx.log.info({ media: event.media_id }, 'media was deleted');
  },
});

const thumbnails = defineHandlers({
  async thumbnail_created(event, ctx) {
    ctx.log.info({ thumbnail: event.thumbnail_id, media: event.media_id }, 'a thumbnail was created');
  },

  async thumbnail_deleted(event, ctx) {
    ctx.log.info({ thumbnail: event.thumbnail_id, media: event.media_id }, 'a thumbnail was deleted');
  },
});

const tracks = defineHandlers({
  async track_created(event, ctx) {
    ctx.log.info({ track: event.track_id, media: event.media_id }, 'a text track was created');
  },

  async track_deleted(event, ctx) {
    ctx.log.info({ track: event.track_id, media: event.media_id }, 'a text track was deleted');
  },
});

const channels = defineHandlers({
  async channel_created(event, ctx) {
    ctx.log.info({ channel: event.channel_id }, 'a live channel was created');
  },

  async channel_active(event, ctx) {
    return showState(event.channel_id, 'active', ctx);
  },

  async channel_idle(event, ctx) {
    return showState(event.channel_id, 'idle', ctx);
  },
});

function showState(channel: string, state: 'active' | 'idle', ctx: HandlerContext): Outcome | undefined {
  if (ctx.late) return skip(`a newer state of channel ${channel} is known`);
  ctx.log.info({ channel, state }, `the channel is ${state}`);
  return undefined;
}

/** Handlers of all 13 kinds, to be watched at work. */
export const handlers = combineHandlers(media, thumbnails, tracks, channels);
