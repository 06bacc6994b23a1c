import { expect, jest, test } from '@jest/globals';
import type { EventStore } from '../../../src/store/event-store.ts';
import { deskForEachTest } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { eventually } from '../../support/eventually.ts';
import { only } from '../../support/only.ts';
import { startCli } from '../../support/run-cli.ts';
import { size } from '../../support/sizes.ts';

const desk = deskForEachTest();
jest.setTimeout(120_000); // processes on a busy machine

const MANY = size({ small: 3000, full: 6000 });

/** Whether the first event, which goes first everywhere, is reset, and whether it may run. */
async function standing(store: EventStore): Promise<'not reset' | 'held' | 'ready'> {
  const { status, nextAttemptAt } = only((await store.search({}, { limit: 1 }, 'oldest')).events);
  if (status !== 'pending') return 'not reset';
  return nextAttemptAt === undefined ? 'ready' : 'held';
}

/** Starts a replay of everything, and gives it a signal once its first event stands so. */
async function replayUntil(wanted: 'held' | 'ready', signal: NodeJS.Signals) {
  const store = await desk().store();
  const { directory: cwd, env } = desk();
  const run = startCli(['events', 'replay', '--all'], { env, cwd });
  await eventually(`it is ${wanted}`, async () => (await standing(store)) === wanted);
  run.kill(signal);
  const ended = await run.ended;
  const events = await eventsIn(store, {}, MANY);
  const pending = events.filter(({ status }) => status === 'pending');
  const ready = pending.filter(({ nextAttemptAt }) => nextAttemptAt === undefined);
  return { store, ...ended, pending: pending.length, ready: ready.length };
}

test.each(['held', 'ready'] as const)(
  'has lost nothing, when it is killed while events are %s, and a second run replays each once',
  async (wanted) => {
    await desk().fill(MANY, 50);
    const { store, pending, ready } = await replayUntil(wanted, 'SIGKILL');
    expect([pending % 500, ready % 500]).toEqual([0, 0]); // whole steps only
    if (wanted === 'held') expect(ready).toBe(0);
    else expect(pending).toBe(MANY);
    expect(ready).toBeLessThan(MANY);
    const { stdout } = await desk().events(['replay', '--all', '--json']);
    const underWay = ready > 0 ? { under_way: ready } : {};
    expect(JSON.parse(stdout)).toEqual({ replayed: MANY - ready, ...underWay });
    const events = await eventsIn(store, {}, MANY);
    expect(events.every(({ replays }) => replays === 1)).toBe(true);
    expect(events.every(({ nextAttemptAt }) => nextAttemptAt === undefined)).toBe(true);
  },
);
