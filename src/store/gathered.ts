import { nextTick } from 'node:process';
import { isUnavailable } from '../base/errors.ts';

/** PostgreSQL plans larger statements otherwise: 128 rows in each. */
const MOST = 128;

/** Resolves once all inputs of this turn of the event loop have come, which go together. */
const turnOver = () => new Promise<void>((resolve) => nextTick(resolve));

type Waiting<I, O> = { readonly input: I; readonly done: PromiseWithResolvers<O> };

/** Inputs that come while work is under way go into the next work together; where that fails because of one of them, each goes alone. */
export class Gathered<I, O> {
  readonly #work: (inputs: readonly I[]) => Promise<readonly O[]>;
  readonly #turn: () => Promise<void>;
  #waiting: Waiting<I, O>[] = [];
  #isWorking = false;

  /**
   * @param work resolves with an output for each input
   * @param turn resolves once the inputs that go together have come
   */
  constructor(work: (inputs: readonly I[]) => Promise<readonly O[]>, turn = turnOver) {
    this.#work = work;
    this.#turn = turn;
  }

  add(input: I): Promise<O> {
    const done = Promise.withResolvers<O>();
    this.#waiting.push({ input, done });
    if (!this.#isWorking) this.#start();
    return done.promise;
  }

  async #start(): Promise<void> {
    this.#isWorking = true;
    while (this.#waiting.length > 0) {
      await this.#turn();
      await this.#do(this.#waiting.splice(0, MOST));
    }
    this.#isWorking = false;
  }

  async #do(batch: readonly Waiting<I, O>[]): Promise<void> {
    try {
      const outputs = await this.#work(batch.map(({ input }) => input));
      for (const [index, { done }] of batch.entries()) done.resolve(outputs[index] as O);
    } catch (error) {
      if (batch.length > 1 && !isUnavailable(error)) {
        for (const one of batch) await this.#do([one]); // all but the one at fault are done
        return;
      }
      // The database fails, and not an input: each alone would wait for it as long.
      const waiting = isUnavailable(error) ? this.#waiting.splice(0) : [];
      for (const { done } of [...batch, ...waiting]) done.reject(error);
    }
  }
}
