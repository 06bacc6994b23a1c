import { defineHandlers } from '../index.ts';

// Captions, subtitles, chapters: every kind of text track comes as one of these two.
export const tracks = defineHandlers({
  async track_created(event, ctx) {
    ctx.log.info({ track: event.track_id, media: event.media_id }, 'a text track was created');
  },

  async track_deleted(event, ctx) {
    ctx.log.info({ track: event.track_id, media: event.media_id }, 'a text track was deleted');
  },
});
