import type { Clock } from '../base/clock.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { GATHER_MS } from '../dispatch/dispatcher.ts';

/** What must be asked while time passes. */
export interface Passage {
  /** Resolves when everything that can go on without time has gone on. */
  quiet(): Promise<void>;
  /** When the next event falls due, milliseconds since the epoch; undefined if none waits. */
  nextEvent(): Promise<number | undefined>;
  /** Whether a handler is at work: then every timer fires at its own time. */
  isAtWork(): boolean;
}

/**
 * Virtual time of which hours pass in milliseconds. The receiver looks around twice a second; between two events nobody needs
 * that, so time goes straight to the next moment at which something happens.
 */
export class KitTime {
  readonly clock: VirtualClock;
  readonly #appointments = new Set<{ readonly due: number }>();
  readonly #passage: Passage;

  constructor(start: number, passage: Passage) {
    this.clock = new VirtualClock(start);
    this.#passage = passage;
  }

  /** A clock whose timers are kept to: time never goes past one of them. */
  readonly punctual: Clock = {
    now: () => this.clock.now(),
    after: (ms, fn) => {
      const appointment = { due: this.clock.now() + Math.max(0, ms) };
      this.#appointments.add(appointment);
      const cancel = this.clock.after(ms, () => {
        this.#appointments.delete(appointment);
        return fn();
      });
      return () => {
        this.#appointments.delete(appointment);
        cancel();
      };
    },
  };

  /** When the next timer of the punctual clock is due, milliseconds since the epoch. */
  nextAppointment(): number | undefined {
    let next: number | undefined;
    for (const { due } of this.#appointments) next = Math.min(next ?? due, due);
    return next;
  }

  /** Lets so many milliseconds pass. */
  async pass(ms: number): Promise<void> {
    const end = this.clock.now() + ms;
    await this.#passage.quiet();
    while (this.clock.now() < end) {
      if (this.#passage.isAtWork()) await this.#step(end);
      else await this.#leap(end);
      await this.#passage.quiet();
    }
  }

  /** To the next timer, whoever set it. */
  async #step(end: number): Promise<void> {
    const to = Math.min(end, this.clock.nextDue() ?? end);
    await this.clock.advance(Math.max(0, to - this.clock.now()));
  }

  async #leap(end: number): Promise<void> {
    const now = this.clock.now();
    const appointment = this.nextAppointment() ?? end;
    const event = (await this.#passage.nextEvent()) ?? end;
    const to = Math.min(end, appointment, Math.max(event, now + GATHER_MS));
    if (to === appointment) {
      // What it waits for, such as a delivery that it sends, must have happened before time goes on.
      this.clock.leap(to - 1);
      await this.clock.advance(to - this.clock.now());
    } else this.clock.leap(to);
  }
}
