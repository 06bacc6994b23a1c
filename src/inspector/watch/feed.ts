import type { Clock } from '../../base/clock.ts';
import type { Recorded, Status } from '../../store/event-store.ts';

/** A change of an event. */
export interface Change {
  readonly id: string;
  /** how a notification was acknowledged, or the present status of its event */
  readonly change: Recorded['status'] | Status;
  readonly kind: string;
}

/** The changes and rejections of a quarter of a second. */
export interface Changes {
  readonly changes: readonly Change[];
  /** how many further changes are not listed: of many, or seen in the store without knowing which */
  readonly more: number;
  readonly rejections: number;
}

type Listener = (changes: Changes) => void;

const GATHER_MS = 250;
const LISTED = 50;

/** Reports changes to its listeners, gathered: thousands of changes a second do not become thousands of messages. */
export class Feed {
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();
  #changes: Change[] = [];
  #more = 0;
  #rejections = 0;
  #isGathering = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** @returns a function that ends the listening */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(id: string, change: Change['change'], kind: string): void {
    if (this.#listeners.size === 0) return;
    if (this.#changes.length < LISTED) this.#changes.push({ id, change, kind });
    else this.#more++;
    this.#gather();
  }

  /** Something changed, and nobody knows what. */
  changedSomehow(): void {
    if (this.#listeners.size === 0) return;
    this.#more++;
    this.#gather();
  }

  rejected(): void {
    if (this.#listeners.size === 0) return;
    this.#rejections++;
    this.#gather();
  }

  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#clock.after(GATHER_MS, () => this.#tell());
  }

  #tell(): void {
    const gathered = { changes: this.#changes, more: this.#more, rejections: this.#rejections };
    this.#changes = [];
    this.#more = 0;
    this.#rejections = 0;
    this.#isGathering = false;
    for (const listener of this.#listeners) listener(gathered);
  }
}
