import { appendFileSync } from 'node:fs';
import { defineHandlers } from '../../../src/index.ts';

// Named in the URL that it is imported by, so that each test has its own.
const diary = new URL(import.meta.url).searchParams.get('diary') ?? '';

/** Writes down each run of its steps, and that a step is complete: its result is stored. A kill loses no line. */
export const handlers = defineHandlers({
  async media_available(_event, ctx) {
    for (const step of ['publish', 'announce']) {
      await ctx.once(step, () => appendFileSync(diary, `runs ${ctx.id} ${step}\n`));
      appendFileSync(diary, `done ${ctx.id} ${step}\n`);
    }
  },
});
