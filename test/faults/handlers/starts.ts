import { appendFileSync } from 'node:fs';
import { defineHandlers } from '../../../src/index.ts';

const diary = process.env.DIARY ?? '';
/** With 16 handlers at once, a backlog of 15,000 takes some ten seconds. */
const WORK_MS = 10;

/** Writes down when each media is handled, and takes its time. */
export const handlers = defineHandlers({
  async media_available({ media_id }) {
    appendFileSync(diary, `${media_id} ${Date.now()}\n`);
    await new Promise((resolve) => setTimeout(resolve, WORK_MS));
  },
});
