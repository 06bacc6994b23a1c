import { defineHandlers } from '../index.ts';

// A thumbnail's events are of the resource of its media, so they never run at once with the media's own.
export const thumbnails = defineHandlers({
  async thumbnail_created(event, ctx) {
    ctx.log.info({ thumbnail: event.thumbnail_id, media: event.media_id }, 'a thumbnail was created');
  },

  async thumbnail_deleted(event, ctx) {
    ctx.log.info({ thumbnail: event.thumbnail_id, media: event.media_id }, 'a thumbnail was deleted');
  },
});
