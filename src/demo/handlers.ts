import { defineHandlers, type HandlerContext, type Handlers, type Outcome, skip } from '../index.ts';

// The handlers of the demo and of the commands' tests. They are independent of src/handlers/.

const WORDS = {
  media_created: 'media was uploaded for the first time',
  conversions_complete: 'all initial renditions are processed',
  media_updated: 'media was updated',
  media_reuploaded: 'a reupload was initiated',
  media_deleted: 'media was deleted',
  thumbnail_created: 'a thumbnail was created',
  thumbnail_deleted: 'a thumbnail was deleted',
  track_created: 'a text track was created',
  track_deleted: 'a text track was deleted',
  channel_created: 'a live channel was created',
};

/** Handlers that say in the log what happened to what. */
const telling: Handlers = Object.fromEntries(
  Object.entries(WORDS).map(([kind, words]) => [
    kind,
    ({ event, webhook_id, event_time, ...ids }: Record<string, string>, ctx: HandlerContext) =>
      ctx.log.info(ids, words),
  ]),
);

function showState(channel: string, state: 'active' | 'idle', ctx: HandlerContext): Outcome | undefined {
  if (ctx.late) return skip(`a newer state of channel ${channel} is known`);
  ctx.log.info({ channel, state }, `the channel is ${state}`);
  return undefined;
}

/** Handlers of all 13 kinds, to be watched at work. */
export const handlers = defineHandlers({
  ...telling,

  async media_available({ media_id: media }, ctx) {
    const notice = await ctx.once('announce', async () => {
      ctx.log.info({ media }, 'media can be published: announcing it');
      return { announcedAt: new Date().toISOString() };
    });
    ctx.log.info({ media, ...notice }, 'media is announced');
  },

  channel_active: ({ channel_id }, ctx) => showState(channel_id, 'active', ctx),

  channel_idle: ({ channel_id }, ctx) => showState(channel_id, 'idle', ctx),
});
