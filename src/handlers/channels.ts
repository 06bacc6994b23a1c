import { defineHandlers, type HandlerContext, type Outcome, skip } from '../index.ts';

// Notifications can arrive in any order. A channel that went idle at 10:05 must not be shown as live because the
// channel_active of 10:00 came in after it: ctx.late says that a newer event of this channel was handled before.
export const channels = defineHandlers({
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
