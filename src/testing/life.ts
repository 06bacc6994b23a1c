import { writeSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import express from 'express';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../base/clock.ts';
import { largestHead } from '../base/http-server.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import type { Config } from '../config.ts';
import { wrapApp } from '../dispatch/handler.ts';
import { appPages, openApp, type ReadyApp } from '../dispatch/open-app.ts';
import { type Dispatchers, dispatchersOf } from '../dispatch/subscribers.ts';
import { LocalServer } from '../mock/mock-provider.ts';
import type { StatusesClient } from '../provider/index.ts';
import { createReceiver } from '../receiver/app.ts';
import { keyringOf } from '../receiver/keyring.ts';
import type { Claim, DoneStep, EventStore, VerifiedNotification } from '../store/event-store.ts';
import { ofSubscriber } from '../store/stored.ts';
import { LeftBehind } from './left-behind.ts';
import { inTimeOf, routeTimers } from './virtual-timers.ts';

/**
 * The places in the life of an event at which a process may die: before a notification is recorded, so that its sender gets no answer, and
 * after it; after an event is claimed; before and after a step of `ctx.once`, and between its end and the storing of its result; before
 * and after a call of `ctx.statuses`; before and after the end of the event is stored. The sender sends again, and events run again.
 */
export type CrashPlace =
  | `${'before' | 'after'} ${'record' | 'step' | 'call' | 'settle'}`
  | 'after claim'
  | 'between step';

/**
 * A point that a process reaches: its place, and of a step its name, of a call its method and path, else the kind of the event. Where a
 * subscriber reaches it, it ends in `@NAME`, but for that of a call.
 */
export type CrashPoint = `${CrashPlace} ${string}`;

export interface LifeOptions {
  readonly config: Config;
  readonly app: ReadyApp;
  /** whether its handlers are in the time of the test */
  readonly isCheck: boolean | undefined;
  readonly store: Promise<EventStore>;
  readonly log: Logger;
  /** that of the test */
  readonly clock: Clock;
  /** whether the process dies at a point that it reaches */
  diesAt(point: string): boolean;
  /** whether a subscriber gets nothing to run for now */
  isHeld(subscriber: string): boolean;
  /** runs a handler of a subscriber, and gives its result or another */
  onRun<T>(run: () => T, subscriber: string): Promise<Awaited<T>>;
  /** `ctx.statuses` of this process, which dies with it */
  statuses(): StatusesClient | undefined;
}

const lives = new Set<Life>();

// A process that a handler ends would take the other tests along, and its runner would say that all is well.
process.on('exit', () => {
  if (![...lives].some(({ isAtWork }) => isAtWork)) return;
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
  readonly begun: Promise<void>;
  /** what its handlers have left behind */
  readonly leftBehind = new LeftBehind();
  readonly #options: LifeOptions;
  readonly #over = Promise.withResolvers<undefined>();
  #state: 'alive' | 'stopped' | 'crashed' = 'alive';
  readonly #underWay = { calls: 0, handlers: 0 };
  /** how many handlers, and calls of the store, have ended */
  ended = 0;
  #dispatcher: Dispatchers | undefined;
  #server: LocalServer | undefined;
  /** answers requests, once it has begun */
  listener: RequestListener | undefined;
  readonly #opened = new AsyncDisposableStack();

  constructor(options: LifeOptions) {
    this.#options = options;
    this.clock = new VirtualClock(options.clock.now());
    this.begun = this.#begin();
  }

  async #begin(): Promise<void> {
    lives.add(this);
    const { config, clock: time, app: ready, isCheck, log, statuses, onRun } = this.#options;
    const { clock } = this;
    // The store as a process has it that may die before, during and after each call.
    const { queue, secrets, reports, ...others } = await this.#options.store;
    const subjects = { queue: this.#mortal(queue), secrets: this.#mortal(secrets) };
    const store = { ...others, ...subjects, reports: this.#mortal(reports) };
    const parts = { store, clock, log };
    if (ready.start) this.#opened.defer(routeTimers());
    const after: Clock['after'] = (ms, fn) => time.after(ms, () => this.isOver || fn());
    const timers = { now: () => time.now(), after };
    const opened = await inTimeOf(timers, () => openApp(ready, { config, log, store }));
    this.#opened.defer(() => opened.close());
    const pages = await appPages(opened);
    const app = wrapApp(opened, (handler, kind) => {
      const watched = this.leftBehind.of(handler, kind);
      return (event, ctx) =>
        this.#during('handlers', async () => {
          await this.reach(`after claim ${kind}`);
          const run = () => inTimeOf(isCheck ? timers : undefined, () => watched(event, ctx));
          return onRun(run, ctx.subscriber);
        });
    });
    const { onDead = () => {} } = ready;
    const told: typeof onDead = (...dead) => this.#during('handlers', () => onDead(...dead));
    const running = { ...app, statuses: statuses(), onDead: told };
    const dispatcher = await dispatchersOf({ ...parts, config, app: running, random: () => 0.5 });
    // WEBHOOK_SECRET verifies what comes. Real time: a request that waits for the keyring holds up virtual time.
    const keyring = keyringOf({ ...parts, clock: systemClock, config });
    const quarantine = { add() {} };
    const receiver = createReceiver(config, { ...parts, keyring, quarantine, phase: () => 'open' });
    const both = express().disable('x-powered-by');
    if (pages) both.use('/app', pages);
    this.listener = both.use(receiver);
    this.#server = new LocalServer(this.listener, largestHead(config.BODY_LIMIT));
    this.#dispatcher = dispatcher;
    dispatcher.start();
    store.queue.onRecorded(() => dispatcher.came());
  }

  get isOver(): boolean {
    return this.#state !== 'alive';
  }

  /** Whether it waits for nothing but time, and for handlers. */
  get isIdle(): boolean {
    return this.isOver || this.#underWay.calls === 0;
  }

  get isAtWork(): boolean {
    return !this.isOver && this.#underWay.handlers > 0;
  }

  /** Asks its public listener, or for a page of the app. @returns undefined if it is over before it answers */
  async fetch(path: string, request: RequestInit): Promise<Response | undefined> {
    await this.begun;
    const asked = this.isOver ? undefined : this.#server?.fetch(`http://receiver.test${path}`, request);
    return this.#during('calls', () => Promise.race([asked, this.#over.promise]));
  }

  /** Comes to a point. Once the process is dead, this never resolves. */
  async reach(point?: CrashPoint, subscriber = ''): Promise<void> {
    if (point && !this.isOver && this.#options.diesAt(ofSubscriber(point, subscriber))) this.crash();
    if (this.#state === 'crashed') await new Promise<never>(() => {});
  }

  /** Events that were replayed are ready. */
  wake(): void {
    this.#dispatcher?.wake();
  }

  /** Kills the process. */
  crash(): void {
    this.#state = 'crashed';
    this.leftBehind.stop();
    this.#over.resolve(undefined);
  }

  /** Stops it in order, or lets go of what is left of it after a crash. */
  async end(): Promise<void> {
    if (!this.isOver) await this.#dispatcher?.stop(0);
    if (this.#state === 'alive') this.#state = 'stopped';
    this.#over.resolve(undefined);
    lives.delete(this);
    this.leftBehind.stop();
    await this.#opened.disposeAsync();
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

  #mortal<T extends object>(subject: T): T {
    return new Proxy(subject, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        if (['onRecorded', 'tellRecorded', 'received'].includes(String(name))) return method.bind(target);
        const pointsOf = Object.hasOwn(POINTS, name) ? Reflect.get(POINTS, name) : () => [];
        return (...input: readonly unknown[]) =>
          this.#during('calls', async () => {
            const { subscriber = '' } = Object(input[0]);
            if (name === 'claim' && this.#options.isHeld(subscriber)) return { claims: [], hasMore: false };
            const [before, after]: Partial<Points> = pointsOf(...input);
            await this.reach(before, subscriber);
            const output: unknown = await Reflect.apply(method, target, input);
            await this.reach(after, subscriber);
            return output;
          });
      },
    });
  }
}

type Points = readonly [before: CrashPoint, after?: CrashPoint];

/** Where a process may die before and after calls of the store. */
const POINTS = {
  record: ({ kind }: VerifiedNotification): Points => [`before record ${kind}`, `after record ${kind}`],
  step: ({ name }: { name: string }): Points => [`before step ${name}`],
  saveStep: ({ name }: DoneStep): Points => [`between step ${name}`, `after step ${name}`],
  settle: ({ kind }: Claim): Points => [`before settle ${kind}`, `after settle ${kind}`],
};
