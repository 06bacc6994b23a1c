import { visibleLine } from '../base/visible.ts';
import { type Answer, reasonOf, wordOf } from './receiver-client.ts';
import type { Listener } from './replay-listener.ts';

/** Counts answers, and reports each kind of unwanted answer when it comes for the first time. */
export class AnswerTally {
  readonly #listener: Pick<Listener, 'say'>;
  readonly #counts = new Map<string, number>();
  #sent = 0;
  #unwanted = 0;

  constructor(listener: Pick<Listener, 'say'>) {
    this.#listener = listener;
  }

  /** How many notifications came to each end: an answer in a word, or why the notification was not sent. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** how many notifications were sent */
  get sent(): number {
    return this.#sent;
  }

  /** how many notifications were not answered with 200, or could not be sent */
  get unwanted(): number {
    return this.#unwanted;
  }

  add(id: string, answer: Answer): void {
    this.#sent++;
    const word = wordOf(answer);
    if (answer.status !== 200 && !this.#counts.has(word)) {
      const reason = reasonOf(answer);
      this.#listener.say(`${visibleLine(word)}${reason === undefined ? '' : ` (${reason})`}: event ${id}`);
    }
    this.#count(word, answer.status !== 200);
  }

  /** A notification that was not sent, and why. */
  addUnsent(why: string): void {
    this.#count(why, true);
  }

  #count(word: string, isUnwanted: boolean): void {
    this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1);
    if (isUnwanted) this.#unwanted++;
  }
}
