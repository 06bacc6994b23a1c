import type { Logger } from 'pino';
import type { MonotonicClock } from '../base/clock.ts';
import { isUnavailable } from '../base/errors.ts';
import { RepeatedLine } from '../base/repeated-line.ts';

/** How soon a request that failed is repeated. */
const PAUSE_MS = 1000;
/** How often it is repeated at a stop, which may take SHUTDOWN_GRACE_MS; the store is closed after that. */
const TRIES_AT_STOP = 15;

export interface PatienceOptions {
  readonly clock: MonotonicClock;
  readonly log: Logger;
  /** the event whose handler it is, as log lines name it */
  readonly event: string;
  /** whether the run of the handler is over: nothing is repeated then */
  readonly isOver: () => boolean;
  /** whether the dispatcher is stopping */
  readonly isStopping: () => boolean;
  /** whether its stop is over: what fails then stays open, as the process ends */
  readonly isStopOver: () => boolean;
  /** told of that */
  readonly onLeft: () => void;
}

/** Repeats requests of `ctx.once` while the store is unavailable: a step whose result is not stored would run again. */
export function patienceOf({ clock, log, event, isOver, isStopping, isStopOver, onLeft }: PatienceOptions) {
  const noAnswer = new RepeatedLine(clock, (fields) =>
    log.error(fields, 'the store does not answer a step of ctx.once; trying again'),
  );
  return async <T>(request: () => Promise<T>): Promise<T> => {
    for (let left = TRIES_AT_STOP; ; ) {
      try {
        return await request();
      } catch (error) {
        if (!isUnavailable(error) || isOver()) throw error;
        if (isStopOver()) {
          onLeft();
          return new Promise<never>(() => {});
        }
        if (isStopping() && left-- === 0) throw error;
        noAnswer.write({ event, error: error.message });
        await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve));
      }
    }
  };
}
