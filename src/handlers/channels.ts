import { defineHandlers, type HandlerContext, type NotificationOf, type Outcome, skip } from '../index.ts';

// Notifications can arrive in any order, and a handler that failed runs again when a newer event was handled. A channel that
// went idle at 10:05 must not be shown as live because of the channel_active of 10:00: ctx.state remembers the newest.
export const channels = defineHandlers({
  async channel_created(event, ctx) {
    ctx.log.info({ channel: event.channel_id }, 'a live channel was created');
  },

  async channel_active(event, ctx) {
    return showState(event, 'active', ctx);
  },

  async channel_idle(event, ctx) {
    return showState(event, 'idle', ctx);
  },
});

type Change = NotificationOf<'channel_active' | 'channel_idle'>;

function showState(event: Change, state: 'active' | 'idle', ctx: HandlerContext): Outcome | undefined {
  const changedAt = Date.parse(event.event_time);
  if (changedAt < Number(ctx.state.get('changed at') ?? 0)) {
    return skip(`a newer state of channel ${event.channel_id} is known`);
  }
  ctx.state.set('changed at', changedAt);
  ctx.log.info({ channel: event.channel_id, state }, `the channel is ${state}`);
  return undefined;
}
