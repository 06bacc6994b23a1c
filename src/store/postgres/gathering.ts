import type { MonotonicClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { unavailable } from '../refusals.ts';
import { codeOf } from './reasons.ts';

/** How many requests share one transaction at most. */
const MOST = 256;

interface Waiting<I, O> {
  readonly input: I;
  readonly resolve: (output: O) => void;
  readonly reject: (error: unknown) => void;
  /** by the monotonic clock, milliseconds */
  readonly since: number;
}

interface GatheringOptions {
  /** how many batches are under way at once; 1 without it */
  readonly lanes?: number;
  /**
   * how long a request waits at most; for ever without it. Then it is refused, and what has not been sent yet never is: where the server
   * takes its time, each batch would wait for those before it
   */
  readonly patience?: { readonly clock: MonotonicClock; readonly ms: number };
}

/** Does requests together: what arrives while some are under way waits for the next turn. */
export class Gathering<I, O> {
  readonly #run: (inputs: readonly I[]) => Promise<readonly O[]>;
  readonly #lanes: number;
  readonly #patience: GatheringOptions['patience'];
  readonly #waiting: Waiting<I, O>[] = [];
  readonly #underWay = new Set<Promise<void>>();
  /** in the order in which they came */
  readonly #unanswered = new Set<Waiting<I, O>>();
  #isWatching = false;

  /**
   * @param run answers inputs in their order; where it fails by the data of one of them, each is done again by itself
   */
  constructor(
    run: (inputs: readonly I[]) => Promise<readonly O[]>,
    { lanes = 1, patience }: GatheringOptions = {},
  ) {
    this.#run = run;
    this.#lanes = lanes;
    this.#patience = patience;
  }

  request(input: I): Promise<O> {
    const { promise, resolve, reject } = Promise.withResolvers<O>();
    const one = { input, resolve, reject, since: this.#patience?.clock.monotonic() ?? 0 };
    this.#waiting.push(one);
    if (this.#waiting.length === 1 && this.#underWay.size < this.#lanes) setImmediate(() => this.#next());
    if (!this.#patience) return promise;
    this.#unanswered.add(one);
    if (!this.#isWatching) this.#watch(this.#patience);
    return promise.finally(() => this.#unanswered.delete(one));
  }

  /** Refuses what has waited for too long, and looks again when the next one will have. */
  #watch(patience: NonNullable<GatheringOptions['patience']>): void {
    const { clock, ms } = patience;
    const before = clock.monotonic() - ms;
    const why = `no answer from the server within ${ms / 1000} s: it is slow, waits for a standby, or has no connection free for this process`;
    let next: Waiting<I, O> | undefined;
    for (const one of this.#unanswered) {
      if (one.since > before) {
        next = one;
        break;
      }
      one.reject(unavailable(why));
    }
    const unsent = this.#waiting.findIndex(({ since }) => since > before);
    this.#waiting.splice(0, unsent < 0 ? this.#waiting.length : unsent);
    this.#isWatching = next !== undefined;
    if (next) clock.after(Math.max(1, next.since - before), () => this.#watch(patience));
  }

  /**
   * Does what waits together with other work, once what is under way is done. If that fails, what waits is done by itself as
   * ever, and so is the work.
   * @param work answers the inputs that wait, in their order, and gives what it does beside
   */
  async with<T>(
    work: (inputs: readonly I[]) => Promise<{ readonly outputs: readonly O[]; readonly done: T }>,
  ): Promise<T> {
    const batch = this.#waiting.splice(0, MOST);
    await Promise.all(this.#underWay);
    if (batch.length === 0) return (await work([])).done;
    let both: Awaited<ReturnType<typeof work>>;
    try {
      both = await work(batch.map(({ input }) => input));
    } catch {
      await this.#answer(batch);
      return (await work([])).done;
    }
    answerAll(batch, both.outputs);
    return both.done;
  }

  #next(): void {
    if (this.#waiting.length === 0 || this.#underWay.size >= this.#lanes) return;
    const batch = this.#waiting.splice(0, MOST);
    const answered = this.#answer(batch);
    this.#underWay.add(answered);
    void answered.finally(() => {
      this.#underWay.delete(answered);
      this.#next();
    });
    this.#next();
  }

  async #answer(batch: readonly Waiting<I, O>[]): Promise<void> {
    try {
      answerAll(batch, await this.#run(batch.map(({ input }) => input)));
    } catch (error) {
      if (batch.length === 1 || !concernsOne(error)) return batch.forEach(({ reject }) => void reject(error));
      for (const one of batch) await this.#answer([one]);
    }
  }
}

/** Whether a batch may have failed because of one of its requests: data that the server cannot take. */
function concernsOne(error: unknown): boolean {
  return error instanceof KitError || /^(21|22|23|54|XX)/.test(codeOf(error) ?? '');
}

function answerAll<I, O>(batch: readonly Waiting<I, O>[], outputs: readonly O[]): void {
  batch.forEach(({ resolve }, index) => void resolve(outputs[index] as O));
}
