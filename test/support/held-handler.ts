import type { Handler, HandlerContext, Outcome } from '../../src/index.ts';
import { present } from './only.ts';

/** A run of a handler that goes on until a test ends it. */
export interface HeldRun {
  readonly ctx: HandlerContext;
  end(outcome?: Outcome): void;
  fail(error: unknown): void;
  readonly isRunning: boolean;
}

/** A handler whose runs wait for the test, whatever their signal says. */
export class HeldHandler {
  readonly runs: HeldRun[] = [];

  readonly handle: Handler<unknown> = async (_event, ctx) => {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome | undefined>();
    const run = { ctx, end: resolve, fail: reject, isRunning: true };
    this.runs.push(run);
    try {
      return await promise;
    } finally {
      run.isRunning = false;
    }
  };

  get running(): readonly HeldRun[] {
    return this.runs.filter(({ isRunning }) => isRunning);
  }

  /** The run that began last. */
  get last(): HeldRun {
    return present(this.runs.at(-1));
  }
}
