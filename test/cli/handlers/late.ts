import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandlers } from '../../../src/index.ts';

const diary = process.env.DIARY ?? '';

/** Writes down what ran, in which order, and whether it was told late; updates only keep the dispatcher awake. */
export const handlers = defineHandlers({
  media_available(event, ctx) {
    const { media_id: media, event_time: time } = event;
    appendFileSync(diary, `${JSON.stringify({ media, time, replay: ctx.replay, late: ctx.late })}\n`);
  },
  media_updated: (_, ctx) => sleep(5, undefined, { signal: ctx.signal }),
});
