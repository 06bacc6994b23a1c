import { writeSync } from 'node:fs';
import express, { type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import { largestHead } from '../base/bounded-server.ts';
import type { MonotonicClock } from '../base/clock.ts';
import type { Config } from '../config.ts';
import { Dispatcher } from '../dispatch/dispatcher.ts';
import { type HandlerContext, type Handlers, wrapHandlers } from '../dispatch/handler.ts';
import { appPages, type OpenApp, openApp, type ReadyApp } from '../dispatch/open-app.ts';
import type { StatusesClient } from '../provider/index.ts';
import { createReceiver } from '../receiver/app.ts';
import { Keyring } from '../receiver/keyring.ts';
import { Quarantine } from '../receiver/quarantine.ts';
import type { EventStore } from '../store/event-store.ts';
import { type CrashPoint, type PointListener, pointAfter, pointBefore } from './crash-points.ts';
import { type LocalAnswer, type LocalRequest, LocalServer } from './local-server.ts';

/** The store of a process, and how the process leaves it. */
export interface OpenStore {
  readonly store: EventStore;
  close(): Promise<void>;
}

export interface LifeOptions {
  readonly config: Config;
  readonly app: ReadyApp;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  /** the fallback secret of all webhooks */
  readonly secret: string;
  readonly onPoint: PointListener;
  /** opens the database */
  open(clock: MonotonicClock): Promise<OpenStore>;
  /** `ctx.statuses` of this process, which dies with it */
  statuses(life: Life): StatusesClient | undefined;
}

/** Those that are neither stopped nor dead: one listener of the process serves all. */
const alive = new Set<Life>();

/** A process that a handler ends would take the other tests along, and its runner would say that all is well. */
function sayWhoEnded(): void {
  if (![...alive].some(({ atWork }) => atWork > 0)) return;
  process.exitCode = 1;
  // There is no other way to say it at the end of a process.
  writeSync(2, 'a handler has ended the process of this test: in production that is a crash\n');
}

/** Has the pages of an app where the admin listener has them, for somebody who is signed in. */
function adminLike(pages: RequestHandler): Express {
  const app = express().disable('x-powered-by');
  app.use((_req, res, next) => {
    res.set('Cache-Control', 'no-store');
    next();
  });
  app.use('/app', pages);
  return app.use((_req, res) => void res.status(404).type('text').send('there is nothing here\n'));
}

/** Never resolves: what a dead process waits for. */
const NEVER = new Promise<never>(() => {});

/**
 * One process of the receiver, from its start to its stop or its crash. After a crash nothing of it goes on: its timers are
 * silent, and what it awaits never comes.
 */
export class Life {
  readonly #over = Promise.withResolvers<undefined>();
  #isCrashed = false;
  #isOver = false;
  #underWay = 0;
  #atWork = 0;
  #ended = Promise.withResolvers<void>();
  readonly #options: LifeOptions;
  #server: LocalServer | undefined;
  #keyring: Keyring | undefined;
  #dispatcher: Dispatcher | undefined;
  #opened: OpenStore | undefined;
  #unwatch = () => {};
  #app: OpenApp | undefined;
  #pages: LocalServer | undefined;

  private constructor(options: LifeOptions) {
    this.#options = options;
  }

  static async begin(options: LifeOptions): Promise<Life> {
    const life = new Life(options);
    try {
      await life.#begin();
      return life;
    } catch (error) {
      await life.end(0);
      throw error;
    }
  }

  async #begin(): Promise<void> {
    const { config, app, log, secret, open } = this.#options;
    const clock = this.#clock();
    this.#opened = await open(clock);
    const store = this.#mortal(this.#opened.store);
    // The secrets of the kit follow from a seed, and nobody but the test reaches it.
    const alone = { WEBHOOK_SECRET: secret, HOST: '127.0.0.1', TRUST_PROXY: 0 };
    const keyring = new Keyring({ store, clock, log, config: alone });
    this.#keyring = keyring;
    await keyring.start();
    this.#app = await openApp(app, { config, log });
    const pages = await appPages(app, { opened: this.#app, store, log });
    if (pages) this.#pages = new LocalServer(adminLike(pages.handler));
    const statuses = this.#options.statuses(this);
    const dispatcher = new Dispatcher({
      config,
      app: { ...this.#app, handlers: this.#handlers(), statuses },
      store,
      clock,
      log,
      random: () => 0.5,
    });
    this.#dispatcher = dispatcher;
    const quarantine = new Quarantine({ store, keyring, clock, log, maxBytes: config.QUARANTINE_MAX_BYTES });
    const receiver = createReceiver(config, {
      store,
      keyring,
      quarantine,
      clock,
      log,
      phase: () => 'open',
    });
    this.#server = new LocalServer(receiver, largestHead(config.BODY_LIMIT));
    if (alive.size === 0) process.on('exit', sayWhoEnded);
    alive.add(this);
    dispatcher.start();
    this.#unwatch = store.watch((resource) => dispatcher.came(resource));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether it waits for nothing but time, and for handlers. */
  get isIdle(): boolean {
    return this.#isOver || this.#underWay === 0;
  }

  /** How many handlers and steps of `ctx.once` are at work. */
  get atWork(): number {
    return this.#isOver ? 0 : this.#atWork;
  }

  /** Resolves when the next handler or step has ended. */
  get workEnded(): Promise<void> {
    return this.#ended.promise;
  }

  /** Sends a request to its public listener. @returns undefined if it is over before it answers */
  async request(request: LocalRequest): Promise<LocalAnswer | undefined> {
    return this.#requestTo(this.#server, request);
  }

  /** Asks for a page of the app. @returns undefined if it has none, or is over before it answers */
  async page(request: LocalRequest): Promise<LocalAnswer | undefined> {
    return this.#requestTo(this.#pages, request);
  }

  async #requestTo(server: LocalServer | undefined, request: LocalRequest): Promise<LocalAnswer | undefined> {
    if (this.#isOver || !server) return undefined;
    return this.during(() => Promise.race([server.request(request), this.#over.promise]));
  }

  /** Counts work as under way until it ends. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      return await work();
    } finally {
      this.#underWay--;
    }
  }

  /** Tells of a point; the listener may kill the process there, and then this never resolves. */
  async reach(point: CrashPoint | undefined): Promise<void> {
    if (point && !this.#isOver) this.#options.onPoint(point);
    if (this.#isCrashed) await NEVER;
  }

  /** Kills the process. */
  crash(): void {
    this.#isCrashed = true;
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#unwatch();
    if (alive.delete(this) && alive.size === 0) process.off('exit', sayWhoEnded);
    this.#over.resolve(undefined);
  }

  /** Stops it in order, or lets go of what is left of it after a crash. */
  async end(graceMs: number): Promise<void> {
    if (!this.#isOver) await this.#dispatcher?.stop(graceMs);
    this.#end();
    await this.#app?.close();
    this.#keyring?.stop();
    await this.#opened?.close();
  }

  #clock(): MonotonicClock {
    const { clock } = this.#options;
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms, fn) =>
        clock.after(ms, () => {
          if (!this.#isOver) fn();
        }),
    };
  }

  /** The store as a process has it that may die before, during and after each call. */
  #mortal(store: EventStore): EventStore {
    return new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name, target);
        if (typeof method !== 'function') return method;
        const call = (input: readonly unknown[]): unknown => Reflect.apply(method, target, input);
        if (name === 'watch' || name === 'received') return (...input: readonly unknown[]) => call(input);
        return (...input: readonly unknown[]) =>
          this.during(async () => {
            await this.reach(pointBefore(name, input));
            const output = await call(input);
            await this.reach(pointAfter(name, input, output));
            return output;
          });
      },
    });
  }

  #handlers(): Handlers {
    return wrapHandlers(
      this.#options.app.handlers,
      (handler) => (event, ctx) => this.#working(() => handler(event, this.#withCountedSteps(ctx))),
    );
  }

  /** The same context, whose steps count as work: a handler may return while one still runs. */
  #withCountedSteps(ctx: HandlerContext): HandlerContext {
    const once: HandlerContext['once'] = (step, fn) =>
      ctx.once(step, typeof fn === 'function' ? () => this.#working(fn) : fn);
    return { ...ctx, once };
  }

  async #working<T>(work: () => T | Promise<T>): Promise<T> {
    this.#atWork++;
    try {
      return await work();
    } finally {
      this.#atWork--;
      this.#ended.resolve();
      this.#ended = Promise.withResolvers();
    }
  }
}
