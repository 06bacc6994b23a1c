import { appendFileSync } from 'node:fs';
import { defineHandlers } from '../../../src/index.ts';

const diary = process.env.DIARY ?? '';

/**
 * Writes down when each run begins and ends, each run of its steps, and that a step is complete: its result is stored. A kill
 * loses no line.
 */
export const handlers = defineHandlers({
  async media_available({ media_id }, ctx) {
    const run = `${media_id} ${ctx.id} ${ctx.attempt}`;
    appendFileSync(diary, `starts ${run}\n`);
    for (const step of ['publish', 'announce']) {
      await ctx.once(step, () => appendFileSync(diary, `runs ${ctx.id} ${step}\n`));
      appendFileSync(diary, `done ${ctx.id} ${step}\n`);
    }
    appendFileSync(diary, `ends ${run}\n`);
  },
});
