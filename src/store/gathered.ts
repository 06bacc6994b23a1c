import { isUnavailable } from '../base/errors.ts';

/** Does in one go what gathers while the work before is under way; where that fails because of one of them, one by one. */
export class Gathered<I, O> {
  readonly #work: (inputs: readonly I[]) => Promise<readonly O[]>;
  #waiting: { readonly input: I; readonly done: PromiseWithResolvers<O> }[] = [];
  #isWorking = false;

  /** @param work resolves with an output for each input */
  constructor(work: (inputs: readonly I[]) => Promise<readonly O[]>) {
    this.#work = work;
  }

  add(input: I): Promise<O> {
    const done = Promise.withResolvers<O>();
    this.#waiting.push({ input, done });
    if (!this.#isWorking) {
      this.#isWorking = true;
      process.nextTick(() => this.#start());
    }
    return done.promise;
  }

  async #start(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MOST);
      const isDone = await this.#try(batch);
      if (!isDone) for (const one of batch) await this.#try([one]);
    }
    this.#isWorking = false;
  }

  /** @returns false if nothing of it was done, and others than the one at fault may be done alone */
  async #try(
    batch: readonly { readonly input: I; readonly done: PromiseWithResolvers<O> }[],
  ): Promise<boolean> {
    try {
      const outputs = await this.#work(batch.map(({ input }) => input));
      for (const [index, { done }] of batch.entries()) done.resolve(outputs[index] as O);
    } catch (error) {
      if (batch.length > 1 && !isUnavailable(error)) return false;
      // Each would wait for the database as long as these have.
      const waiting = isUnavailable(error) ? this.#waiting.splice(0) : [];
      for (const { done } of [...batch, ...waiting]) done.reject(error);
    }
    return true;
  }
}

/** PostgreSQL plans larger statements otherwise: 128 rows in each. */
const MOST = 128;
