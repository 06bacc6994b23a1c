import { nextTick } from 'node:process';
import { isUnavailable } from '../base/errors.ts';

/** PostgreSQL plans larger statements otherwise: 128 rows in each. */
const MOST = 128;

/**
 * Inputs that come while work is under way go into the next work together; where that fails because of one of them, each goes alone.
 * @param work resolves with an output for each input
 * @param turn resolves once the inputs that go together have come: by default those of this turn of the event loop
 * @returns a function that has an input worked on
 */
export function gathered<I, O>(
  work: (inputs: readonly I[]) => Promise<readonly O[]>,
  turn = () => new Promise<void>((resolve) => nextTick(resolve)),
): (input: I) => Promise<O> {
  const waiting: { readonly input: I; readonly done: PromiseWithResolvers<O> }[] = [];
  let isWorking = false;

  const workOn = async (batch: typeof waiting): Promise<void> => {
    try {
      const outputs = await work(batch.map(({ input }) => input));
      for (const [index, { done }] of batch.entries()) done.resolve(outputs[index] as O);
    } catch (error) {
      if (batch.length > 1 && !isUnavailable(error)) {
        for (const one of batch) await workOn([one]); // all but the one at fault are done
        return;
      }
      // The database fails, and not an input: each alone would wait for it as long.
      const behind = isUnavailable(error) ? waiting.splice(0) : [];
      for (const { done } of [...batch, ...behind]) done.reject(error);
    }
  };

  const start = async (): Promise<void> => {
    isWorking = true;
    while (waiting.length > 0) {
      await turn();
      await workOn(waiting.splice(0, MOST));
    }
    isWorking = false;
  };

  return (input) => {
    const done = Promise.withResolvers<O>();
    waiting.push({ input, done });
    if (!isWorking) start();
    return done.promise;
  };
}
