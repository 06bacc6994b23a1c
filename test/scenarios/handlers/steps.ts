import { appendFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandlers } from '../../../src/index.ts';

const write = (line: string) => appendFileSync(process.env.DIARY ?? '', `${line}\n`);

/** Whether this run is to wait until its process is killed: a test has asked for one by a file. */
function isHeld(): boolean {
  try {
    rmSync(`${process.env.DIARY}-${process.pid}`);
    return true;
  } catch {
    return false; // there is no such file
  }
}

/**
 * Writes down when each run begins and ends, each run of its steps, and that a step is complete: its result is stored. One file has the
 * lines of all processes in the order of what happened; a kill loses none. Counts the events of its media in `ctx.state`.
 */
export const handlers = defineHandlers({
  async media_available({ media_id }, { id, once, state }) {
    write(`starts ${media_id} ${process.pid}`);
    for (const step of ['publish', 'announce']) {
      await once(step, () => write(`runs ${id} ${step}`));
      write(`done ${id} ${step}`);
    }
    await sleep(isHeld() ? 60_000 : 10);
    state.set('events', (state.get<number>('events') ?? 0) + 1);
    write(`ends ${media_id} ${process.pid}`);
  },
});
