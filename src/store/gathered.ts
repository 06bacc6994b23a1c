import { isUnavailable } from '../base/errors.ts';

/** PostgreSQL plans larger statements otherwise: 128 rows in each. */
const MOST = 128;

/** What comes in one callback goes together. */
const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve));

type Waiting<I, O> = { readonly input: I; readonly done: PromiseWithResolvers<O> };

/** Does in one go what gathers while the work before is under way; where that fails because of one of them, one by one. */
export class Gathered<I, O> {
  readonly #work: (inputs: readonly I[]) => Promise<readonly O[]>;
  readonly #turn: () => Promise<void>;
  #waiting: Waiting<I, O>[] = [];
  #isWorking = false;

  /**
   * @param work resolves with an output for each input
   * @param turn resolves once what goes together has come
   */
  constructor(work: (inputs: readonly I[]) => Promise<readonly O[]>, turn = nextTick) {
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
      // Each would wait for the database as long as these have.
      const waiting = isUnavailable(error) ? this.#waiting.splice(0) : [];
      for (const { done } of [...batch, ...waiting]) done.reject(error);
    }
  }
}
