import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { size } from '../support/sizes.ts';
import { verified } from '../support/verified-notification.ts';
import { pause, Receivers } from './receivers.ts';

const COUNT = size({ small: 400, full: 10_000 });
/** Within what time they all come due, and how many receivers are killed meanwhile. */
const WITHIN_MS = size({ small: 4000, full: 60_000 });
const KILLS = size({ small: 3, full: 30 });
/** Of how many reminders one is forgotten, from some time before it is due to a little after. */
const FORGOTTEN = 4;
const [BEFORE_MS, AFTER_MS] = [3000, 500];
/** That of the schedule; and how many of its times may be missed, where what comes due keeps a busy machine for longer. */
const EVERY_MS = 5000;
const MISSED = size({ small: 0, full: 5 });

/** An event, with how many starts it had and how those ended that no crash cut off. */
interface Stored {
  readonly id: string;
  readonly kind: string;
  readonly resource: string;
  readonly time: number;
  readonly end: string;
  readonly starts: number;
  readonly outcomes: string;
}
const EVENTS = `SELECT id, kind, resource, event_time AS time, concat_ws(' ', status, last_error) AS end, count(lease)::int AS starts,
    string_agg(outcome, ' ') FILTER (WHERE outcome <> 'lost') AS outcomes
  FROM hookkit.events LEFT JOIN hookkit.attempts ON event = seq GROUP BY seq ORDER BY event_time, seq`;

/** How a reminder or a tick may end. */
const ENDS = [
  ...['reminder handled handled', 'reminder skipped forgotten'],
  ...['schedule:often handled handled', 'schedule:often skipped superseded'],
];

/** How many runs of an event came to their end, and when the last one began. */
interface Runs {
  readonly event: string;
  readonly runs: number;
  readonly began: Date;
}
const RUNS = 'SELECT event, count(ended)::int AS runs, max(started) AS began FROM runs GROUP BY event';

const until = (at: number) => pause(Math.max(0, at - Date.now()));

describeWithPostgres('three receivers with reminders and a schedule, killed in turn', (server) => {
  test(`run each of ${COUNT} reminders and each tick once, but for runs that a crash cut off, and none that was forgotten`, async () => {
    const env = { HANDLERS: join(import.meta.dirname, 'handlers/reminders.ts') };
    const receivers = await Receivers.on(server, { env });
    await Promise.all([0, 1, 2].map((at) => receivers.start(at)));
    const store = await receivers.store();
    const from = Date.now() + BEFORE_MS;
    const media = Array.from({ length: COUNT }, (_, index) => ({
      media_id: `media${index}`,
      at: from + Math.floor((index / COUNT) * WITHIN_MS),
    }));
    const record = (event: string, one: (typeof media)[number]) =>
      store.queue.record(verified({ event, ...one }));
    await Promise.all(media.map((one) => record('media_created', one)));
    const forgetting = media
      .filter((_, index) => index % FORGOTTEN === 0)
      .map(async (one) => {
        await until(one.at - BEFORE_MS + (BEFORE_MS + AFTER_MS) * Math.random());
        await record('media_available', one);
      });
    for (let turn = 0; turn < KILLS; turn++) {
      await until(from + (WITHIN_MS * (turn + Math.random())) / KILLS);
      await receivers.kill(turn % 3);
      await receivers.start(turn % 3);
    }
    await Promise.all(forgetting);
    await until(from + WITHIN_MS);
    const left = async () => {
      const { pending, running } = await store.reports.overview();
      return pending + running + (await store.queue.work()).isReminder;
    };
    while ((await left()) > 0) await pause(100);
    const idleAt = Date.now();
    await store.close();
    for (const one of receivers.processes) await one?.stop();

    const runs = new Map((await receivers.diary<Runs>(RUNS)).map((one) => [one.event, one]));
    const events = await receivers.events<Stored>(EVENTS);
    const of = (kind: string) => events.filter((one) => one.kind === kind && one.time <= idleAt);
    const [reminders, ticks] = [of('reminder'), of('schedule:often')];
    const own = [...reminders, ...ticks];
    const ends = own.map(({ kind, end, outcomes }) => [kind, end, outcomes].join(' ').trim());
    expect(ends.filter((end) => !ENDS.includes(end))).toEqual([]);
    const runsOf = ({ id }: Stored) => runs.get(id)?.runs ?? 0;
    const isOnce = (one: Stored) =>
      runsOf(one) <= one.starts && (runsOf(one) > 0 || one.outcomes !== 'handled');
    expect(own.filter((one) => !isOnce(one))).toEqual([]);
    expect(await receivers.overlaps()).toEqual([]);

    const reminderOf = new Map(reminders.map((one) => [one.resource, one]));
    expect(reminderOf.size).toBe(reminders.length);
    const forgets = new Map(of('media_available').map((one) => [one.resource, one]));
    const setters = of('media_created');
    expect([setters.length, forgets.size]).toEqual([COUNT, COUNT / FORGOTTEN]);
    const began = (one: Stored | undefined) => runs.get(one?.id ?? '')?.began ?? 0;
    const isKept = ({ resource, time }: Stored) => {
      const [reminder, forget] = [reminderOf.get(resource), forgets.get(resource)];
      if (forget) return began(reminder) < began(forget);
      return reminder?.end === 'handled' && reminder.time === time;
    };
    expect(setters.filter((one) => !isKept(one))).toEqual([]);

    const times = [...new Set(ticks.map(({ time }) => time))];
    const [first = Number.NaN, last = Number.NaN] = [times[0], times.at(-1)];
    expect([times.length, times.filter((time) => time % EVERY_MS !== 0)]).toEqual([ticks.length, []]);
    expect((last - first) / EVERY_MS + 1 - times.length).toBeLessThanOrEqual(MISSED);
    expect(last + 2 * EVERY_MS).toBeGreaterThan(idleAt);
    expect(await receivers.events('SELECT name FROM hookkit.reminders')).toEqual([{ name: '' }]);
  });
});
