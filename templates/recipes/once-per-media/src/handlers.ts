import { oncePerMedia } from './once-per-media.ts';

// The recipe is yours: change src/once-per-media.ts as you need. For handlers of other kinds beside it:
// combineHandlers(oncePerMedia({ ... }), defineHandlers({ ... })) from 'webhook-receiver-kit'.
export const handlers = oncePerMedia({
  name: 'mail',
  async act({ mediaId, idempotencyKey }, ctx) {
    // Do it here. Give idempotencyKey to the service that you call: the process can die after the call.
    ctx.log.info({ media: mediaId, idempotencyKey }, 'this happens once for the media');
  },
});
