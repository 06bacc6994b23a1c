import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { type Clock, type MonotonicClock, systemClock } from '../base/clock.ts';
import { durationOf, LONGEST_MS } from '../base/duration.ts';
import type { Post, PostResult } from '../base/poster.ts';
import { visibleLog } from '../base/visible.ts';
import type { Config } from '../config.ts';
import { GATHER_MS } from '../dispatch/dispatcher.ts';
import { type Handlers, wrapHandlers } from '../dispatch/handler.ts';
import { MockProvider } from '../mock/index.ts';
import { type Kind, kindNames } from '../notification/kinds.ts';
import { keyOf, signNotification } from '../notification/token.ts';
import { StatusesClient } from '../provider/index.ts';
import { pagesOf } from '../replay/event-pages.ts';
import { exportRecording } from '../replay/export-recording.ts';
import { LeftOut, recordingSource } from '../replay/sources.ts';
import type { Attempt, EventFilter, EventStore, StoredEvent } from '../store/event-store.ts';
import { openStore } from '../store/open.ts';
import type { CrashPoint } from './crash-points.ts';
import { appOf, checkOptions, configOf, type KitOptions } from './kit-options.ts';
import { KitTime } from './kit-time.ts';
import { Life, type OpenStore } from './life.ts';
import { type LocalAnswer, type LocalRequest, LocalServer } from './local-server.ts';
import { type Happening, type MembersOf, notificationOf, SITE } from './notifications.ts';

/** Decides at every point that the receiver reaches whether its process dies there, to be started again at once. */
export type CrashPlan = (point: CrashPoint) => boolean;

/** What the receiver answered to a notification that it took. */
export interface Taken {
  readonly status: 'accepted' | 'duplicate';
  readonly id: string;
}

/** An event as it is stored, and the notification that it came with. */
export interface KitEvent extends StoredEvent {
  readonly notification: Readonly<Record<string, unknown>>;
}

/** A request of a handler to the scheduled statuses API. */
export interface StatusesCall {
  readonly method: string;
  readonly path: string;
  /** what was sent as JSON; undefined if nothing was */
  readonly body: unknown;
  readonly status: number;
}

type LogLine = Readonly<Record<string, unknown>>;

/** Signs what no stored secret verifies: notifications of other webhooks than the kit's own, as recordings have them. */
const SECRET = 'the secret of the kit for tests, for every webhook';
const RECEIVER = 'https://receiver.test';
const MOCK_NAME = 'mock.test';
const START = Date.UTC(2026, 0, 1);
const PATIENCE_MS = 3000;
/** How long it may be still before virtual time goes on for what it waits for. */
const STILL_MS = 20;
/** The most moments at which something happens until everything is settled. */
const MOST_MOMENTS = 20_000;
const SECOND_MS = 1000;
/** After so long new events are claimed. */
const GATHERED_MS = 2 * GATHER_MS;

/**
 * Starts a receiver for tests of handlers: the real one, from the signed request to the stored end of an event, with the mock
 * provider, in this process, without a port and in virtual time. Stop it at the end of the test.
 * @throws KitError CONFIG_INVALID if a setting is not valid
 * @example
 * const kit = await testReceiver({ handlers });
 * await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
 * await kit.settled();
 * assert.equal((await kit.event()).status, 'handled');
 * await kit.stop();
 */
export function testReceiver(options: KitOptions): Promise<TestReceiver> {
  return TestReceiver.start(options);
}

/** A receiver under test. Nothing of it waits in real time but handlers that do. */
export class TestReceiver {
  /** The mock provider, with one webhook that leads here: its verbs upload media, go live, and so on. */
  readonly provider: MockProvider;
  /** The site that the webhook takes notifications of. */
  readonly site = SITE;
  readonly #options: KitOptions;
  readonly #config: Config;
  readonly #plan: CrashPlan | undefined;
  readonly #time: KitTime;
  /** the directory of its database; undefined: it is in memory */
  readonly #directory: string | undefined;
  /** made when it is first asked: it has some sixty routes */
  #mockServer: LocalServer | undefined;
  readonly #webhook: { readonly id: string; readonly secret: string };
  readonly #lines: string[] = [];
  readonly #log: Logger;
  readonly #calls: StatusesCall[] = [];
  /** the notification that was delivered last, by whomever */
  #last: string | undefined;
  /** looks on, and has no part in what happens */
  #store: EventStore | undefined;
  #life: Promise<Life> | undefined;
  #current: Life | undefined;
  readonly #former: Life[] = [];
  readonly #armed: CrashPoint[] = [];
  readonly #stepsSeen = new Set<string>();
  #failures = 0;
  #isStopped = false;
  #newestEvent = 0;

  private constructor(options: KitOptions, plan: CrashPlan | undefined, directory: string | undefined) {
    this.#options = options;
    this.#plan = plan;
    this.#directory = directory;
    this.#config = configOf(options);
    this.#time = new KitTime(START, {
      quiet: () => this.#quiet(),
      nextEvent: () => this.#nextEvent(),
      isAtWork: () => this.#isAtWork,
    });
    const write = (line: string) => void this.#lines.push(line);
    const timestamp = () => `,"time":${this.now()}`;
    this.#log = pino({ level: 'debug', base: null, timestamp, ...visibleLog }, { write });
    this.provider = MockProvider.inProcess({
      clock: this.#time.punctual,
      seed: 1,
      names: [MOCK_NAME],
      poster: { post: (post) => this.#post(post), close() {} },
    });
    this.#webhook = this.provider.createWebhook({
      name: 'the receiver under test',
      webhook_url: `${RECEIVER}${this.#config.WEBHOOK_PATH}`,
      events: kindNames,
      site_ids: [SITE],
    });
  }

  /** @param plan kills its process at some points; without one, only `crash` and `crashAt` do */
  static async start(options: KitOptions, plan?: CrashPlan): Promise<TestReceiver> {
    checkOptions(options);
    const isFile = options.store === 'sqlite';
    const directory = isFile ? await mkdtemp(join(tmpdir(), 'hookkit-test-')) : undefined;
    let kit: TestReceiver | undefined;
    try {
      kit = new TestReceiver(options, plan, directory);
      kit.#store = await kit.#open(kit.#time.clock);
      await kit.#store.addSecret(kit.#webhook.id, kit.#webhook.secret);
      await kit.#begin();
      return kit;
    } catch (error) {
      if (kit) await kit.#store?.close();
      if (directory !== undefined) await rm(directory, { recursive: true });
      throw error;
    }
  }
  /** The time there, in milliseconds since the epoch. It begins with the year 2026. */
  now(): number {
    return this.#time.clock.now();
  }

  /**
   * Delivers a notification: signed, to the real receiver. Each happens a second after the one before, unless `event_time` is
   * given; other members that are not given are filled in.
   * @returns once it is acknowledged, and before it is handled @throws Error if the receiver refuses it, or has crashed
   */
  deliver<K extends Kind>(kind: K, members: MembersOf<K> = {}): Promise<Taken> {
    return this.deliverBody(this.#notificationOf(kind, members));
  }

  /** Delivers any notification as it is, such as one of a kind that nobody knows yet. @throws as `deliver` */
  async deliverBody(notification: Readonly<Record<string, unknown>> | string): Promise<Taken> {
    const body = typeof notification === 'string' ? notification : JSON.stringify(notification);
    this.#last = body;
    return this.#deliver(body);
  }

  /** Delivers the last notification again, or that of an event. @throws as `deliver` */
  async duplicate(id?: string): Promise<Taken> {
    const body = id === undefined ? this.#last : (await this.event(id)).body;
    if (body === undefined) throw new Error('there is nothing to deliver again: deliver something first');
    return this.#deliver(body);
  }

  /**
   * Delivers notifications in another order than that in which they happened, each once those before it were handled.
   * @param happened in the order of their event times, a second between them
   * @param order the order of delivery, as places in that list; without it, the last is delivered first
   */
  async outOfOrder(happened: readonly Happening[], order?: readonly number[]): Promise<Taken[]> {
    const all = happened.map(([kind, members]) => this.#notificationOf(kind, members ?? {}));
    const taken: Taken[] = [];
    for (const place of order ?? all.map((_, index) => all.length - 1 - index)) {
      const notification = all[place];
      if (!notification) throw new RangeError(`there is no notification in place ${place}: the first has 0`);
      taken.push(await this.deliverBody(notification));
      await this.handled();
    }
    return taken;
  }

  /** Lets the next run of a handler fail once it has done its work, as by a connection that is lost at its end. */
  failNext(): void {
    this.#checkGoing();
    this.#failures++;
  }

  /** Lets time pass. @param time milliseconds, or `250ms`, `10s`, `5m`, `2h`, `1d` */
  async advance(time: number | string): Promise<void> {
    const ms = typeof time === 'number' ? time : durationOf(time);
    if (ms === undefined || !(ms >= 0 && ms <= LONGEST_MS)) {
      throw new RangeError(`${time} is no time: give milliseconds, or 10m, at most a hundred years`);
    }
    this.#checkGoing();
    await this.#time.pass(ms);
  }

  /** Resolves when what is ready was handled; time does not go on, so that retries wait. @throws as `settled` */
  async handled(): Promise<void> {
    this.#checkGoing();
    await this.#time.pass(GATHERED_MS);
    await this.#rest();
  }

  /**
   * Resolves when nothing is left to do: time is skipped until every event is handled, skipped or dead, and the provider has
   * delivered everything. While the receiver is dead, after `crash` or `crashAt`, it resolves at once: `restart` it first.
   * @throws Error if a handler does not end in 3 seconds of real time, or in `patienceMs`
   */
  async settled(): Promise<void> {
    for (let moment = 0; moment < MOST_MOMENTS; moment++) {
      await this.handled();
      if (await this.#isCrashed()) return;
      const next = [await this.#nextEvent()];
      if (this.provider.isBusy || this.#isAtWork) next.push(this.#time.nextAppointment());
      const times = next.filter((time) => time !== undefined);
      if (times.length === 0) return;
      await this.#time.pass(Math.max(0, Math.min(...times) - this.now()));
    }
    throw new Error(`it does not settle: ${MOST_MOMENTS} moments passed, and there is still something to do`);
  }

  /** An event, or the only one. @throws Error if there is none, or none was named and there are several */
  async event(id?: string): Promise<KitEvent> {
    if (id !== undefined) {
      const event = await this.#observed.event(id);
      if (!event) throw new Error(`there is no event ${id}`);
      return shown(event);
    }
    const [event, ...others] = await this.events();
    if (!event) throw new Error('there is no event: deliver something first');
    if (others.length > 0)
      throw new Error(`there are ${others.length + 1} events: name one by its id, or use events()`);
    return event;
  }

  /** The events, in the order in which they were received. */
  async events(filter: EventFilter = {}): Promise<KitEvent[]> {
    return (await this.#stored(filter)).map(shown);
  }

  async #stored(filter: EventFilter): Promise<readonly StoredEvent[]> {
    const events: StoredEvent[] = [];
    for await (const page of pagesOf(this.#observed, filter)) events.push(...page);
    return events.sort((one, other) => one.seq - other.seq);
  }

  /** The starts of an event's handler, or of the only event's, the first one first. */
  async attempts(id?: string): Promise<readonly Attempt[]> {
    return this.#observed.attempts((await this.event(id)).id);
  }

  /** The stored results of `ctx.once` of an event, or of the only one, by the names of the steps. */
  async steps(id?: string): Promise<Readonly<Record<string, unknown>>> {
    const steps = await this.#observed.steps((await this.event(id)).id);
    return Object.fromEntries(
      steps.map(({ name, result }) => [name, result === null ? undefined : JSON.parse(result)]),
    );
  }

  /** What events left in `ctx.state`. @param resource `media:ID` or `channel:ID` */
  async state(resource: string): Promise<Readonly<Record<string, unknown>>> {
    if (!resource.includes(':'))
      throw new TypeError(`${resource} is no resource: give media:ID or channel:ID`);
    const values = await this.#observed.state(resource);
    return Object.fromEntries(values.map(({ name, value }) => [name, JSON.parse(value)]));
  }

  /** The lines that the receiver and `ctx.log` have logged, as objects. */
  log(): LogLine[] {
    return this.#lines.map((line): LogLine => JSON.parse(line));
  }

  /**
   * Asks for a page of the app, as somebody does who is signed in at the admin listener.
   * @param path such as `/app/board`
   * @param request its method, headers and body; a GET without them
   * @throws Error if the app has no routes, if the receiver has crashed, or if the page does not answer within `patienceMs`
   */
  async page(
    path: string,
    { method = 'GET', headers = {}, body }: Partial<Omit<LocalRequest, 'path'>> = {},
  ): Promise<LocalAnswer> {
    this.#checkGoing();
    if (!path.startsWith('/app')) throw new TypeError(`pages of the app begin with /app, not as ${path}`);
    const life = await this.#life;
    const asked = life?.page({ method, path, headers, body }).then((answer) => ({ answer }));
    const { patienceMs = PATIENCE_MS } = this.#options;
    const answered = await within(patienceMs, asked);
    if (answered === 'late') throw new Error(`${method} ${path} has not answered in ${patienceMs} ms`);
    if (answered?.answer) return answered.answer;
    throw new Error(
      (await this.#isCrashed())
        ? 'the receiver has crashed: restart() starts it again'
        : 'the app has no routes: give { app }, with routes',
    );
  }

  /** The requests that handlers have made to the scheduled statuses API. */
  get statusesCalls(): readonly StatusesCall[] {
    return this.#calls;
  }

  /** A client of the scheduled statuses API of the same user that handlers have. */
  get statuses(): StatusesClient {
    return this.#statusesClient(undefined);
  }

  /** Kills the process of the receiver now, as by SIGKILL. `restart` starts it again. */
  async crash(): Promise<void> {
    (await this.#life)?.crash();
  }

  /**
   * Kills the process when a handler next comes to a step of `ctx.once`. Each call kills it once more.
   * @param where before the step runs, between its end and its storing, or after its result is stored
   */
  crashAt(step: string, where: 'before' | 'between' | 'after'): void {
    this.#checkGoing();
    if (!['before', 'between', 'after'].includes(where)) {
      throw new TypeError(`a process dies before, between or after a step, not ${where}`);
    }
    this.#armed.push({ place: `${where} step`, what: step });
  }

  /** Starts the receiver again on the same database, after a crash or, as a deployment does, after a stop in order. */
  async restart(): Promise<void> {
    this.#checkGoing();
    await this.#endLife();
    await this.#begin();
  }

  /**
   * Stops everything. A handler that still runs is left behind.
   * @throws Error if a crash or a failure was to come, and none came: the test has not tried what it means to
   */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.provider.reset();
    await this.#endLife();
    for (const life of this.#former) await life.end(0);
    await this.#store?.close();
    await this.provider.close();
    if (this.#directory !== undefined) await rm(this.#directory, { recursive: true });
    this.#checkTried();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Delivers a recording, such as `hookkit events export` writes, with the gaps that it has.
   * @throws KitError INPUT_INVALID if it cannot be read; Error naming the line that is broken
   */
  async fromRecording(file: string): Promise<Taken[]> {
    const source = await recordingSource(file);
    const taken: Taken[] = [];
    let last: number | undefined;
    const leftOut = new LeftOut((problem) => {
      throw new Error(problem);
    });
    try {
      for await (const { body, receivedAt } of source.read(leftOut)) {
        await this.#time.pass(Math.max(0, receivedAt - (last ?? receivedAt)));
        last = receivedAt;
        taken.push(await this.deliverBody(body));
      }
    } finally {
      await source.close();
    }
    return taken;
  }

  /** Writes what was received into a recording. */
  async record(file: string): Promise<void> {
    const lines: string[] = [];
    await exportRecording(this.#observed, { filter: {}, write: async (some) => void lines.push(some) });
    await writeFile(file, lines.join(''), { mode: 0o600 });
  }

  #checkGoing(): void {
    if (this.#isStopped) throw new Error('the receiver was stopped: start another one');
  }

  #checkTried(): void {
    if (this.#plan) return;
    const seen = this.#stepsSeen.size > 0 ? [...this.#stepsSeen].join(', ') : 'none';
    if (this.#armed.length > 0) {
      const missed = this.#armed.map(({ what, place }) => `"${what}" (${place.split(' ')[0]})`).join(', ');
      throw new Error(`crashAt: no handler came to the step ${missed}; the steps that came: ${seen}`);
    }
    if (this.#failures > 0) throw new Error('failNext: no handler has run since');
  }

  get #observed(): EventStore {
    this.#checkGoing();
    if (!this.#store) throw new Error('the receiver was not started');
    return this.#store;
  }

  get #isAtWork(): boolean {
    return (this.#current?.atWork ?? 0) > 0;
  }

  async #isCrashed(): Promise<boolean> {
    return (await this.#life)?.isOver ?? true;
  }

  #notificationOf(
    kind: string,
    members: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> {
    const now = Math.ceil(this.now() / SECOND_MS) * SECOND_MS;
    const at = Math.max(now, this.#newestEvent + SECOND_MS);
    this.#newestEvent = at;
    return notificationOf(kind, members, { at, webhookId: this.#webhook.id });
  }

  #open(clock: MonotonicClock): Promise<EventStore> {
    const path = this.#directory === undefined ? ':memory:' : join(this.#directory, 'receiver.db');
    return openStore({ url: `sqlite:${path}`, clock, threads: false });
  }

  /** A file is opened by each process for itself; the database in memory is there only where it was opened. */
  async #openFor(clock: MonotonicClock): Promise<OpenStore> {
    const shared = this.#observed;
    if (this.#directory === undefined) return { store: shared, async close() {} };
    const store = await this.#open(clock);
    return { store, close: () => store.close() };
  }

  async #begin(): Promise<void> {
    const app = appOf(this.#options);
    this.#life = Life.begin({
      config: this.#config,
      app: { ...app, handlers: this.#failing(app.handlers) },
      clock: this.#time.clock,
      log: this.#log,
      secret: SECRET,
      onPoint: (point) => this.#onPoint(point),
      open: (clock) => this.#openFor(clock),
      statuses: (life) => (this.#options.statuses === false ? undefined : this.#statusesClient(life)),
    });
    this.#current = await this.#life;
    await this.#quiet();
  }

  async #endLife(): Promise<void> {
    const life = await this.#life;
    if (!life) return;
    if (life.isOver) return void this.#former.push(life);
    const ended = life.end(0);
    if (this.#isAtWork) await this.#time.pass(2 * SECOND_MS); // what it waits for at a stop
    await ended;
  }

  #onPoint(point: CrashPoint): void {
    if (point.place === 'before step') this.#stepsSeen.add(point.what);
    const armed = this.#armed.findIndex(({ place, what }) => point.place === place && point.what === what);
    const isArmed = armed !== -1;
    if (isArmed) this.#armed.splice(armed, 1);
    const isPlanned = this.#plan?.(point) === true;
    if (!isArmed && !isPlanned) return;
    const dead = this.#current;
    dead?.crash();
    if (dead && isPlanned) {
      this.#former.push(dead);
      void this.#begin();
    }
  }

  #failing(handlers: Handlers): Handlers {
    return wrapHandlers(handlers, (handler) => async (event, ctx) => {
      const returned = await handler(event, ctx);
      if (this.#failures === 0) return returned;
      this.#failures--;
      throw new Error('failNext: the handler has done its work, and fails');
    });
  }

  /** Delivers until the receiver answers, as the provider does: where a plan kills it, it is there again at once. */
  async #deliver(body: string): Promise<Taken> {
    const key = body.includes(this.#webhook.id) ? this.#webhook.secret : SECRET;
    const authorization = `Bearer ${signNotification(body, keyOf(key))}`;
    for (;;) {
      const answer = await this.#send(body, authorization);
      if (answer?.status === 200) return JSON.parse(answer.body);
      if (answer) throw new Error(`the receiver answered ${answer.status}: ${answer.body}`);
      this.#checkGoing();
      if (await this.#isCrashed()) throw new Error('the receiver has crashed: restart() starts it again');
    }
  }

  async #send(body: string, authorization: string) {
    const life = await this.#life;
    const headers = { 'Content-Type': 'application/json', Authorization: authorization };
    return life?.request({ method: 'POST', path: this.#config.WEBHOOK_PATH, headers, body });
  }

  /** Takes the deliveries of the mock. */
  async #post({ headers, body }: Post): Promise<PostResult> {
    const answer = await this.#send(String(body), headers.Authorization ?? '');
    if (!answer) return { type: 'unanswered', error: 'ECONNREFUSED' };
    if (answer.status === 200) this.#last = String(body);
    return { type: 'answered', status: answer.status, body: answer.body };
  }

  #statusesClient(life: Life | undefined): StatusesClient {
    const clock: Clock = this.#time.punctual;
    const options = { baseUrl: `http://${MOCK_NAME}`, token: 'alice-rw', clock, random: () => 0.5 };
    return new StatusesClient({ ...options, fetch: this.#fetchOf(life) });
  }

  /** `fetch` of a process, which may die before and after each request. */
  #fetchOf(life: Life | undefined): typeof fetch {
    return async (input, { method = 'GET', headers, body } = {}) => {
      const { pathname, search } = new URL(String(input));
      const path = pathname + search;
      await life?.reach({ place: 'before call', what: `${method} ${pathname}` });
      this.#mockServer ??= new LocalServer(this.provider.app(MOCK_NAME));
      const answer = await this.#mockServer.request({
        method,
        path,
        headers: { ...Object.fromEntries(new Headers(headers)), host: MOCK_NAME },
        body: typeof body === 'string' ? body : undefined,
      });
      const sent = typeof body === 'string' ? JSON.parse(body) : undefined;
      if (life) this.#calls.push({ method, path, body: sent, status: answer.status });
      await life?.reach({ place: 'after call', what: `${method} ${pathname}` });
      const { status } = answer;
      return new Response(status === 204 ? null : answer.body, { status, headers: answer.headers });
    };
  }

  /** Resolves when nothing goes on by itself any more in this process. */
  async #quiet(): Promise<void> {
    for (let calm = 0; calm < 3; calm++) {
      await new Promise((resolve) => setImmediate(resolve));
      const life = await this.#life;
      if (life?.isIdle === false) calm = -1;
    }
  }

  /** Resolves when no handler is at work, or only one that waits for virtual time to pass. */
  async #rest(): Promise<void> {
    const { patienceMs = PATIENCE_MS } = this.#options;
    const end = systemClock.monotonic() + patienceMs;
    await this.#quiet();
    while (this.#isAtWork) {
      const isOver = await this.#endedWithin(STILL_MS);
      await this.#quiet();
      if (!isOver && this.#time.nextAppointment() !== undefined) return;
      if (systemClock.monotonic() < end) continue;
      const running = (await this.events({ status: 'running' })).map(
        ({ kind, resource }) => `${kind} of ${resource}`,
      );
      throw new Error(
        `the handler for ${running.join(', ')} has not ended in ${patienceMs} ms: if it waits for its time-out, use advance('${this.#config.HANDLER_TIMEOUT_MS + SECOND_MS}ms'); a handler that ignores ctx.signal needs 5 s more`,
      );
    }
  }

  /** Whether a handler or a step ended within so many milliseconds of real time. */
  async #endedWithin(ms: number): Promise<boolean> {
    return (await within(ms, this.#current?.workEnded)) !== 'late';
  }

  /** When the next event falls due, or the lease of one whose process died runs out. */
  async #nextEvent(): Promise<number | undefined> {
    if (await this.#isCrashed()) return undefined;
    const running = new Set((await this.#stored({ status: 'running' })).map(({ resource }) => resource));
    const pending = await this.#stored({ status: 'pending' });
    // The others of a resource wait for the end of the one that runs.
    const times = pending.flatMap(({ nextAttemptAt, resource }) =>
      running.has(resource) && nextAttemptAt === undefined ? [] : [nextAttemptAt ?? this.now()],
    );
    // In small steps: a dispatcher that sleeps for longer spares the leases of others.
    if (running.size > 0 && !this.#isAtWork) times.push(this.now() + this.#config.LEASE_MS / 4);
    return times.length > 0 ? Math.min(...times) : undefined;
  }
}

/** What a promise gives, if it does within so many milliseconds of real time. */
async function within<T>(ms: number, work: Promise<T> | undefined): Promise<T | undefined | 'late'> {
  let cancel = () => {};
  const late = new Promise<'late'>((resolve) => {
    cancel = systemClock.after(ms, () => resolve('late'));
  });
  return Promise.race([work, late]).finally(cancel);
}

function shown(event: StoredEvent): KitEvent {
  return { ...event, notification: event.body === undefined ? {} : JSON.parse(event.body) };
}
