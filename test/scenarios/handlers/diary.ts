import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandlers } from '../../../src/index.ts';

const diary = process.env.DIARY ?? '';
const write = (line: string) => appendFileSync(diary, `${line}\n`);

/** Writes down when it begins and ends, in one file for all processes: lines are in the order of what happened. */
export const handlers = defineHandlers({
  async media_available(event, ctx) {
    const name = `${event.media_id} ${ctx.id}`;
    write(`begins ${name}`);
    await sleep(2, undefined, { signal: ctx.signal });
    write(`ends ${name}`);
  },
});
