import { writeSync } from 'node:fs';
import express from 'express';
import { type Clock, systemClock } from '../base/clock.ts';
import { largestHead } from '../base/http-server.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { wrapApp } from '../dispatch/handler.ts';
import { appPages, openApp, type ReadyApp } from '../dispatch/open-app.ts';
import { dispatchersOf } from '../dispatch/subscribers.ts';
import { LocalServer } from '../mock/mock-provider.ts';
import type { Parts } from '../observer.ts';
import type { StatusesClient } from '../provider/index.ts';
import { createReceiver } from '../receiver/app.ts';
import { keyringOf } from '../receiver/keyring.ts';
import { withReconcile } from '../reconcile/index.ts';
import type { EventStore, Queue } from '../store/event-store.ts';
import { ofSubscriber } from '../store/stored.ts';
import { LeftBehind } from './left-behind.ts';
import { routeTimers, timeScope } from './virtual-timers.ts';

/**
 * The places in the life of an event at which a process may die: before a notification is recorded, so that its sender gets no answer, and
 * after it; after an event is claimed; before and after a step of `ctx.once`, and between its end and the storing of its result; before
 * and after a call of `ctx.statuses`; before and after the end of the event is stored. The sender sends again, and events run again.
 */
export type CrashPlace =
  | `${'before' | 'after'} ${'record' | 'step' | 'call' | 'settle'}`
  | 'after claim'
  | 'between step';

/** Where a process may die before and after calls of the queue. */
const PLACES: Readonly<Record<string, readonly CrashPlace[]>> = {
  record: ['before record', 'after record'],
  step: ['before step'],
  saveStep: ['between step', 'after step'],
  settle: ['before settle', 'after settle'],
};

/** `clock` is that of the test. */
export interface LifeOptions extends Pick<Parts, 'config' | 'clock' | 'log'> {
  readonly app: ReadyApp;
  /** whether its handlers are in the time of the test */
  readonly isCheck: boolean | undefined;
  readonly store: Promise<EventStore>;
  /** whether the process dies at a point that it reaches */
  diesAt(point: string): boolean;
  /** whether the ticks of schedules come now */
  isTicking(): boolean;
  /** whether a run of a subscriber's handler fails, now that it has done its work */
  isFailing(subscriber: string): boolean;
  /** `ctx.statuses` of this process, which dies with it */
  statuses(): StatusesClient | undefined;
}

const lives = new Set<Life>();

// A process that a handler ends would take the other tests along, and its runner would say that all is well.
process.on('exit', () => {
  if (![...lives].some((life) => life.isBusyWith('handlers'))) return;
  process.exitCode = 1;
  writeSync(2, 'a handler has ended the process of this test: in production that is a crash\n');
});

/**
 * One process of the receiver, from its start to its stop or its crash. After a crash nothing of it goes on: nobody moves its
 * clock any more, and what it awaits never comes.
 */
export class Life {
  /** its own: nobody moves it after a crash */
  readonly clock: VirtualClock;
  /** resolves when it has started; rejects if its app does not start */
  readonly begun;
  /** what its handlers have left behind */
  readonly leftBehind = new LeftBehind();
  readonly options: LifeOptions;
  readonly #over = Promise.withResolvers<undefined>();
  /** whether it has crashed or was stopped */
  isOver = false;
  readonly #underWay = { calls: 0, handlers: 0 };
  /** how many handlers, and calls of the queue, have ended */
  ended = 0;
  readonly #opened = new AsyncDisposableStack();

  constructor(options: LifeOptions) {
    this.options = options;
    this.clock = new VirtualClock(options.clock.now());
    lives.add(this);
    this.begun = this.#begin();
  }

  async #begin() {
    const { config, clock: time, app: ready, isCheck, log } = this.options;
    const { queue, ...others } = await this.options.store;
    const parts = { config, store: { ...others, queue: this.#mortal(queue) }, clock: this.clock, log };
    if (ready.start) this.#opened.defer(routeTimers());
    const after: Clock['after'] = (ms, fn) => time.after(ms, () => this.isOver || fn());
    const timers = { now: () => time.now(), after };
    const opened = await timeScope.run(timers, () => openApp(ready, parts));
    this.#opened.defer(() => opened.close());
    const pages = await appPages(opened);
    const limit = (giveUp: () => void) => after(2 * config.HANDLER_TIMEOUT_MS, giveUp);
    const complete = { ...opened, ...withReconcile(opened, parts) };
    const app = wrapApp(complete, (handler, kind) => {
      const watched = this.leftBehind.of(handler, kind, isCheck ? limit : undefined);
      return (event, ctx) =>
        this.#during('handlers', async () => {
          await this.reach('after claim', kind);
          const outcome = await timeScope.run(isCheck ? timers : undefined, () => watched(event, ctx));
          if (!this.options.isFailing(ctx.subscriber)) return outcome;
          throw new Error('failNext: the handler has done its work, and fails');
        });
    });
    const onDead: ReadyApp['onDead'] = (...dead) => this.#during('handlers', () => ready.onDead?.(...dead));
    const running = { ...app, statuses: this.options.statuses(), onDead };
    const dispatcher = await dispatchersOf({ ...parts, app: running, random: () => 0.5 });
    this.#opened.defer(() => (this.isOver ? undefined : dispatcher.stop(0)));
    // WEBHOOK_SECRET verifies what comes. Real time: a request that waits for the keyring holds up virtual time.
    const keyring = keyringOf({ ...parts, clock: systemClock });
    const quarantine = { add() {} };
    const receiver = createReceiver({ ...parts, keyring, quarantine, phase: () => 'open' });
    const listener = express().disable('x-powered-by');
    if (pages) listener.use('/app', pages);
    listener.use(receiver);
    dispatcher.start();
    queue.onRecorded(dispatcher.came);
    return { dispatcher, listener, server: new LocalServer(listener, largestHead(config.BODY_LIMIT)) };
  }

  /** Whether requests to it and calls of the queue are under way, or handlers. */
  isBusyWith(what: 'calls' | 'handlers'): boolean {
    return !this.isOver && this.#underWay[what] > 0;
  }

  /** Asks its public listener, or for a page of the app. @returns undefined if it is over before it answers */
  async fetch(path: string, request: RequestInit): Promise<Response | undefined> {
    const { server } = await this.begun;
    const asked = this.isOver ? undefined : server.fetch(`http://receiver.test${path}`, request);
    return this.#during('calls', () => Promise.race([asked, this.#over.promise]));
  }

  /**
   * Comes to a point. Once the process is dead, this never resolves.
   * @param of the name of a step, the method and path of a call, else the kind of the event
   * @param subscriber its name follows in the name of the point
   */
  async reach(place: CrashPlace | undefined, of: string, subscriber = ''): Promise<void> {
    const isLast = place && !this.isOver && this.options.diesAt(ofSubscriber(`${place} ${of}`, subscriber));
    if (isLast) this.crash();
    if (this.isOver) await new Promise<never>(() => {});
  }

  /** Kills the process. */
  crash(): void {
    this.isOver = true;
    this.leftBehind.stop();
    this.#over.resolve(undefined);
  }

  /** Stops it in order, or lets go of what is left of it after a crash. */
  async end(): Promise<void> {
    await this.#opened.disposeAsync();
    this.crash();
    lives.delete(this);
  }

  async #during<T>(what: 'calls' | 'handlers', work: () => T): Promise<Awaited<T>> {
    this.#underWay[what]++;
    try {
      return await work();
    } finally {
      this.#underWay[what]--;
      this.ended++;
    }
  }

  /** The queue as a process has it that may die before, during and after each call. */
  #mortal(queue: Queue): Queue {
    return new Proxy(queue, {
      get: (target, name) => {
        const call: unknown = Reflect.get(target, name);
        if (typeof call !== 'function') return call;
        const [before, after] = PLACES[String(name)] ?? [];
        return (...input: readonly unknown[]) =>
          this.#during('calls', async () => {
            const { subscriber = '', kind, name: of = kind } = Object(input[0]);
            await this.reach(before, of, subscriber);
            const isTickless = name === 'comeDue' && !this.options.isTicking();
            const asked = isTickless ? [{ subscriber }] : input;
            const output: unknown = await Reflect.apply(call, target, asked);
            await this.reach(after, of, subscriber);
            return output;
          });
      },
    });
  }
}
