import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestListener } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { durationOf } from '../base/duration.ts';
import { logFormat } from '../base/log.ts';
import { nextOf } from '../base/schedule.ts';
import { plural } from '../base/text.ts';
import { headlineOf } from '../base/thrown.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { GATHER_MS } from '../dispatch/dispatcher.ts';
import { schedulesOf } from '../dispatch/handler.ts';
import { MockProvider } from '../mock/mock-provider.ts';
import { type Happening, type MembersOf, notificationOf, SITE } from '../mock/notifications.ts';
import { type Kind, kindNames } from '../notification/kinds.ts';
import { keyOf, signNotification } from '../notification/token.ts';
import { type Retry, StatusesClient } from '../provider/index.ts';
import { differences, type EventEnd, endAsText, NEVER_ENDED, told } from '../replay/expectations.ts';
import { exportRecording, writeWholeFile } from '../replay/export-recording.ts';
import { pagesOf, type RecordedEvent, wholeRecording } from '../replay/sources.ts';
import type { Attempt, EventFilter, Recorded, StoredEvent } from '../store/event-store.ts';
import { openStore } from '../store/open.ts';
import { stateJson } from '../store/queue/lists/event-json.ts';
import { toReplay } from '../store/queue/lists/search.ts';
import { isEventId, toVerified } from '../store/stored.ts';
import { appOf, type CheckOptions, configOf, type KitOptions } from './kit-options.ts';
import { NEVER_ENDS } from './left-behind.ts';
import { Life } from './life.ts';
import { isAtRest, machine } from './virtual-timers.ts';

type Values = Readonly<Record<string, unknown>>;

/** An event as it is stored, and the notification that it came with. */
export type KitEvent = StoredEvent & { readonly notification: Values };

const SECOND_MS = 1000;
/** Where so many events wait for a retry, those that fall due soon after each other run together: each alone would take long. */
const MANY = 100;
const TOGETHER_MS = 10_000;
/** While other systems are at work in a check, so much time passes at once, once it has passed in reality. */
const STEP_MS = 100;
/** So many reminders may come one after the other in `settled`, or at one moment, while nothing else does. */
const MOST_ALONE = 100;
const CRASHED = 'the receiver has crashed, or was stopped: restart() starts it again';

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
export const testReceiver = (options: KitOptions): Promise<TestReceiver> => TestReceiver.start(options);

/** A receiver under test. Nothing of it waits in real time but handlers that do. */
export class TestReceiver {
  /** of all but the process of the receiver: time never goes past one of its timers */
  readonly #clock;
  /** The mock provider, with one webhook that leads here: its verbs upload media, go live, and so on. */
  readonly provider;
  /** Answers requests as the receiver's public listener does: for supertest, and others that take a listener. */
  readonly listener: RequestListener = async (req, res) => {
    const { listener } = await this.#life.begun;
    return this.#life.isOver ? req.destroy() : listener(req, res);
  };
  /** The secret that verifies notifications: HS256, with this text as the key. */
  readonly secret: string;
  /** The site that the webhook takes notifications of. */
  readonly site = SITE;
  readonly #webhook;
  readonly #options: CheckOptions;
  readonly #plan;
  readonly #config;
  readonly #store;
  readonly #lines: string[] = [];
  /** runs what is the mock's: not in the scope of the handler that calls it */
  readonly #aside = AsyncLocalStorage.snapshot();
  /** The requests that handlers have made to the scheduled statuses API; `body` has the fields of the form, those named `x[]` as lists. */
  readonly statusesCalls: { method: string; path: string; body: unknown; status: number }[] = [];
  /** A client of the scheduled statuses API of the same user that handlers have. */
  readonly statuses;
  /** the notification that was delivered last, by whomever */
  #last: string | undefined;
  #life: Life;
  readonly #lives: Life[] = [];
  /** where it dies */
  readonly #armed: string[] = [];
  /** whose next runs fail */
  readonly #failing: string[] = [];
  /** The names of the subscribers of the app, after '' for its own handlers. */
  subscribers: readonly string[] = [''];
  #newestEvent = 0;
  /** until when a handler waits for the statuses API, as that asked for */
  #waitsUntil = 0;
  /** until when ticks of schedules come */
  #ticksUntil = 0;

  private constructor(options: CheckOptions, diesAt?: (point: string) => boolean) {
    this.#options = options;
    this.#plan = diesAt;
    this.#clock = new VirtualClock(options.now);
    this.provider = MockProvider.inProcess({
      clock: this.#clock,
      seed: 1,
      poster: {
        post: async ({ headers, body }) => {
          const answer = await this.#send(String(body), headers.Authorization ?? '');
          if (!answer) return { type: 'unanswered', error: 'ECONNREFUSED' };
          if (answer.status === 200) this.#last = String(body);
          return { type: 'answered', status: answer.status, body: await answer.text() };
        },
      },
    });
    this.#webhook = this.provider.createWebhook({
      name: 'the receiver under test',
      webhook_url: 'https://receiver.test/',
      events: kindNames,
      site_ids: [SITE],
    });
    this.secret = this.#webhook.secret;
    this.#config = configOf(options, this.secret);
    this.#store = openStore({ DATABASE_URL: 'sqlite::memory:', clock: this.#clock, threads: false });
    this.statuses = this.#statusesClient();
    this.#life = this.#newLife();
  }

  /** @param diesAt whether its process dies at a point, and is started again at once; else only `crash` and `crashAt` kill it */
  static async start(options: CheckOptions, diesAt?: (point: string) => boolean) {
    const kit = new TestReceiver(options, diesAt);
    await kit.#quiet().catch(async (error) => {
      await kit.#life.end();
      throw error;
    });
    return kit;
  }

  /** The time there, in milliseconds since the epoch. */
  readonly now = (): number => this.#clock.now();

  /**
   * Delivers a notification: signed, to the real receiver. Each happens a second after the one before, unless `event_time` is
   * given; other members that are not given are filled in.
   * @returns once it is acknowledged, and before it is handled @throws Error if the receiver refuses it, or has crashed
   */
  deliver<K extends Kind>(kind: K, members: MembersOf<K> = {}): Promise<Recorded> {
    return this.deliverBody(this.#next(kind, members));
  }

  /** Delivers any notification as it is, such as one of a kind that nobody knows yet. @throws as `deliver` */
  async deliverBody(notification: Values | string): Promise<Recorded> {
    const body = typeof notification === 'string' ? notification : JSON.stringify(notification);
    this.#last = body;
    const authorization = `Bearer ${signNotification(body, keyOf(this.secret))}`;
    // As the provider does, until there is an answer: it may have died, and be there again.
    for (;;) {
      const answer = await this.#send(body, authorization);
      if (answer?.status === 200) return JSON.parse(await answer.text());
      if (answer) throw new Error(`the receiver answered ${answer.status}: ${await answer.text()}`);
      if (this.#life.isOver) throw new Error(CRASHED);
    }
  }

  /** Delivers the last notification again, or that of an event. @throws as `deliver` */
  async duplicate(id?: string): Promise<Recorded> {
    const body = id === undefined ? this.#last : (await this.event(id)).body;
    if (body === undefined) throw new Error('there is nothing to deliver again: deliver something first');
    return this.deliverBody(body);
  }

  /**
   * Delivers notifications in another order than that in which they happened, each once those before it were handled.
   * @param happened in the order of their event times, a second between them
   * @param order the order of delivery, as places in that list; without it, the last is delivered first
   */
  async outOfOrder(happened: readonly Happening[], order?: readonly number[]): Promise<void> {
    const all = happened.map(([kind, members = {}]) => this.#next(kind, members));
    for (const place of order ?? [...all.keys()].reverse()) {
      const notification = all[place];
      if (!notification) throw new RangeError(`there is no notification at place ${place}: the first has 0`);
      await this.deliverBody(notification);
      await this.handled();
    }
  }

  /**
   * Lets the next run of a handler fail once it has done its work, as by a connection that is lost at its end.
   * @param subscriber of a handler of this subscriber; without it, of the app's own handlers; `all`: one of each
   */
  failNext(subscriber = ''): void {
    this.#failing.push(...(subscriber === 'all' ? this.subscribers : [subscriber]));
  }

  /**
   * Lets time pass. Reminders and ticks come at their very moments.
   * @param time milliseconds, or `250ms`, `10s`, `5m`, `2h`, `1d`; `reminder`: until the next reminder is due, none if there is none
   */
  async advance(time: number | string): Promise<void> {
    const [{ dueAt } = { dueAt: 0 }] = await this.reminders();
    const given = time === 'reminder' ? Math.max(0, dueAt - this.now()) : time;
    const ms = typeof given === 'number' ? given : (durationOf(given) ?? Number.NaN);
    if (!(ms >= 0)) throw new RangeError(`${time} is no time: give milliseconds, 10m, or reminder`);
    this.#ticksUntil = this.now() + ms;
    await this.#pass(ms);
    this.#life.leftBehind.check();
  }

  /** Resolves when each ready event was handled. Time does not go on, so retries wait. @throws as `settled` */
  async handled(): Promise<void> {
    await this.#pass(GATHER_MS); // after so long new events are claimed
    await this.#rest();
    this.#life.leftBehind.check();
  }

  /**
   * Resolves when nothing is left to do: time is skipped until every event is handled, skipped or dead, and the provider has
   * delivered everything. Reminders that are due by then come, and no ticks: `advance` lets these and later reminders come. While the
   * receiver is dead, after `crash` or `crashAt`, it resolves at once: `restart` it first.
   * @throws Error if a handler does not end in 3 seconds of real time, or in `patienceMs`; or if a hundred reminders come before anything else
   */
  async settled(): Promise<void> {
    await this.#handledUntil(Infinity);
  }

  /**
   * Replays events, as `hookkit events replay` does: `settled` then has their handlers run again.
   * @param filter all notifications without one, of main and of each subscriber; a `kind` may be `reminder` or `schedule:NAME` @param options `resetSteps`: the steps of `ctx.once` run again, too
   * @returns how many are replayed
   */
  async replay(filter: EventFilter = {}, options: { readonly resetSteps?: boolean } = {}): Promise<number> {
    const { events } = await (await this.#store).queue.replay(toReplay(this.#filterOf(filter)), options);
    (await this.#life.begun).dispatcher.wake();
    return events;
  }

  /**
   * An event, or the only one.
   * @param which its id, or the name of the subscriber whose only event it is; without it, it is one of the app's own handlers
   * @throws Error if there is none, or none was named and there are several
   */
  async event(which = ''): Promise<KitEvent> {
    const [event, ...others] = await this.events(isEventId(which) ? { ids: [which] } : { subscriber: which });
    if (!event) throw new Error(`there is no event${which && ` ${which}`}: deliver something first`);
    if (others.length > 0)
      throw new Error(`there are ${others.length + 1} events: name one by its id, or use events()`);
    return event;
  }

  /**
   * The events, in the order in which they were received.
   * @param filter its `subscriber` is the name of one, or `all`; without it, the events are those of the app's own handlers
   */
  async events(filter: EventFilter = {}): Promise<KitEvent[]> {
    const meant = this.#filterOf({ subscriber: filter.ids ? 'all' : '', ...filter });
    const events = (await Array.fromAsync(pagesOf(await this.#store, meant))).flat();
    const inOrder = events.sort((one, other) => one.seq - other.seq);
    return inOrder.map((event) => ({ ...event, notification: JSON.parse(event.body ?? '{}') }));
  }

  /** The starts of an event's handler, the first one first. @param which as of `event` */
  async attempts(which?: string): Promise<readonly Attempt[]> {
    return (await this.#store).queue.attempts({ id: (await this.event(which)).id });
  }

  /** The stored results of `ctx.once` of an event, by the names of the steps. @param which as of `event` */
  async steps(which?: string): Promise<Values> {
    const steps = await (await this.#store).queue.steps({ id: (await this.event(which)).id });
    const results = steps.map(({ name, result }) => [name, result && JSON.parse(result)]);
    return Object.fromEntries(results);
  }

  /**
   * What events left in `ctx.state`.
   * @param resource `media:ID` or `channel:ID`
   * @param subscriber whose state; without it, that of the app's own handlers
   */
  async state(resource: string, subscriber = ''): Promise<Values> {
    if (!resource.includes(':'))
      throw new TypeError(`${resource} is no resource: give media:ID or channel:ID`);
    this.#filterOf({ subscriber }); // it is one of the app
    return stateJson(await (await this.#store).queue.state({ resource, subscriber }));
  }

  /** The reminders that are set and not due yet, the next one first, of all subscribers. `dueAt` and `setAt` are milliseconds since the epoch. */
  async reminders() {
    const all = await (await this.#store).queue.reminders({ limit: Number.MAX_SAFE_INTEGER });
    const own = all.filter(({ subscriber }) => this.subscribers.includes(subscriber));
    return own.map(({ data = 'null', ...one }) => ({ ...one, data: JSON.parse(data) }));
  }

  /** The lines that the receiver and `ctx.log` have logged, as objects. */
  log(): readonly Values[] {
    return this.#lines.map((line) => JSON.parse(line));
  }

  /**
   * Asks for a page of the app, as somebody does who is signed in at the admin listener.
   * @param path such as `/app/board`
   * @param request its method, headers and body; a GET without them
   * @throws Error if the receiver has crashed
   */
  async page(path: string, request: RequestInit = {}) {
    const answer = await this.#life.fetch(path, request);
    if (!answer) throw new Error(CRASHED);
    return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() };
  }

  /** Kills the process of the receiver now, as by SIGKILL. `restart` starts it again. */
  async crash(): Promise<void> {
    this.#life.crash();
  }

  /**
   * Kills the process when a handler next comes to this step of `ctx.once`. Each call kills it once more.
   * @param step its name; that of a subscriber's handler ends in `@NAME`, as `charge@search`
   * @param where before the step runs, between its end and its storing, or after its result is stored
   */
  crashAt(step: string, where: 'before' | 'between' | 'after'): void {
    this.#armed.push(`${where} step ${step}`);
  }

  /** Starts the receiver again on the same database, after a crash or, as a deployment does, after a stop in order. */
  async restart(): Promise<void> {
    await this.#endLife();
    this.#life.leftBehind.check();
    this.#life = this.#newLife();
    await this.#quiet();
  }

  /**
   * Stops everything. A handler that still runs is left behind.
   * @throws Error if a crash or a failure that the test has set up never came
   */
  async stop(): Promise<void> {
    await this.provider.close();
    await this.#endLife();
    for (const life of this.#lives) await life.end();
    await (await this.#store).close();
    this.#life.leftBehind.check();
    if (this.#plan) return;
    const missed = this.#armed.splice(0).join(', ');
    if (missed !== '') throw new Error(`crashAt: no handler came to this point: ${missed}`);
    const [name] = this.#failing;
    if (name !== undefined) throw new Error(`failNext: no handler${name && ` of ${name}`} has run since`);
  }

  readonly [Symbol.asyncDispose] = () => this.stop();

  /**
   * Delivers a recording with the gaps that it has, each event once those before it were handled. If its lines expect ends,
   * everything settles, as in `hookkit events check`.
   * @throws Error that tells the events that ended otherwise; KitError INPUT_INVALID naming a line that is broken
   */
  async fromRecording(file: string): Promise<void> {
    const events = await wholeRecording(file);
    await this.play(events);
    if (!events.some(({ expect }) => expect)) return;
    const found = differences(events, await this.ends());
    const lines = [`${plural(found.length, 'event')} ended otherwise than expected`, ...found.map(told)];
    if (found.length > 0) throw new Error(lines.join('\n'));
  }

  /** Delivers recorded events with the gaps between them, each once what came before its gap is handled. @throws as `deliver` */
  async play(events: Iterable<RecordedEvent>): Promise<void> {
    let ahead: number | undefined;
    for (const { body, receivedAt, origin = 'notification' } of events) {
      ahead ??= this.now() - receivedAt;
      this.#ticksUntil = receivedAt + ahead;
      await this.#handledUntil(receivedAt + ahead);
      if (origin === 'notification') await this.deliverBody(body);
      else await (await this.#store).queue.record({ ...toVerified(JSON.parse(body), body), origin });
    }
  }

  /** How every event has ended, those of subscribers too, by its id, once everything has settled. */
  async ends(): Promise<ReadonlyMap<string, EventEnd>> {
    await this.settled();
    const ends = new Map<string, EventEnd>();
    const { queue } = await this.#store;
    const events = await this.events({ subscriber: 'all' });
    const came = events.filter(({ origin }) => origin === 'reminder');
    for (const { id, resource, subscriber, ...event } of events) {
      const { attempts, lastError: reason } = event;
      const status = reason?.includes(NEVER_ENDS) ? NEVER_ENDED : event.status;
      const own = came.filter((one) => one.resource === resource && one.subscriber === subscriber);
      const set = await queue.remindersOf({ resource, subscriber });
      const told = Map.groupBy([...own.map(toldReminder), ...set.map(({ name }) => `${name} set`)], String);
      const reminders = Object.fromEntries(Array.from(told, ([text, { length }]) => [text, length]));
      const state = await this.state(resource, subscriber);
      ends.set(id, { status, attempts, reason: reason && headlineOf(reason), state, reminders });
    }
    return ends;
  }

  /** Writes what was received into a recording. */
  async record(file: string): Promise<void> {
    await writeWholeFile(file, async (write) => exportRecording(await this.#store, { filter: {}, write }));
  }

  /** A filter as the store has it. @throws TypeError on a subscriber that the app does not have: nothing of it would seem to be there */
  #filterOf({ subscriber = 'all', ...filter }: EventFilter): EventFilter {
    if (subscriber === 'all') return filter;
    if (this.subscribers.includes(subscriber)) return { ...filter, subscriber };
    throw new TypeError(`the app has no subscriber ${subscriber}: leave the name out for its own handlers`);
  }

  /** A notification of what happens next. */
  #next(kind: string, members: Values): Values {
    const at = Math.max(Math.ceil(this.now() / SECOND_MS) * SECOND_MS, this.#newestEvent + SECOND_MS);
    this.#newestEvent = at;
    return notificationOf(kind, members, { at, webhookId: this.#webhook.id });
  }

  #newLife(): Life {
    const app = appOf(this.#options);
    this.subscribers = ['', ...Object.keys(app.subscribers ?? {})];
    const timestamp = () => `,"time":${this.now()}`;
    const to = { write: (line: string) => void this.#lines.push(line) };
    const log = pino({ level: 'debug', base: null, timestamp, ...logFormat }, to);
    const parts = { config: this.#config, store: this.#store, log, clock: this.#clock };
    const life: Life = new Life({
      ...parts,
      app,
      isCheck: this.#options.isCheck,
      diesAt: (point) => this.#diesAt(point),
      isTicking: () => this.now() <= this.#ticksUntil,
      isFailing: (subscriber) => taken(this.#failing, subscriber),
      statuses: () => (this.#options.statuses === false ? undefined : this.#statusesClient(life)),
    });
    this.#lives.push(life);
    return life;
  }

  async #endLife(): Promise<void> {
    if (this.#life.isOver) return;
    const ended = this.#life.end();
    if (this.#life.isBusyWith('handlers')) await this.#pass(2 * SECOND_MS); // what it waits for at a stop
    await ended;
  }

  #diesAt(point: string): boolean {
    const isArmed = taken(this.#armed, point);
    if (!this.#plan?.(point)) return isArmed;
    this.#life = this.#newLife();
    return true;
  }

  async #send(body: string, authorization: string): Promise<Response | undefined> {
    const headers = { 'Content-Type': 'application/json', Authorization: authorization };
    return this.#life.fetch(this.#config.WEBHOOK_PATH, { method: 'POST', headers, body });
  }

  /** A client of the mock, as a process has it: it may die before and after each request. */
  #statusesClient(life?: Life): StatusesClient {
    const send: typeof fetch = async (input, init = {}) => {
      const { method = 'GET', body } = init;
      const { href, pathname, search } = new URL(String(input));
      await life?.reach('before call', `${method} ${pathname}`);
      const answer = await this.#aside(() => this.provider.fetch(href, init));
      const form = new URLSearchParams(typeof body === 'string' ? body : '');
      const sentAs = (name: string) => (name.endsWith('[]') ? form.getAll(name) : form.get(name));
      const sent = Object.fromEntries(Array.from(form.keys(), (name) => [name, sentAs(name)]));
      if (life)
        this.statusesCalls.push({ method, path: pathname + search, body: sent, status: answer.status });
      await life?.reach('after call', `${method} ${pathname}`);
      return answer;
    };
    const onRetry = ({ waitMs }: Retry) => (this.#waitsUntil = this.now() + waitMs);
    const options = { token: 'alice-rw', random: () => 0.5, clock: this.#clock, fetch: send, onRetry };
    return new StatusesClient({ baseUrl: this.provider.url, ...options });
  }

  /** Resolves when nothing goes on by itself any more in this process. */
  async #quiet(): Promise<void> {
    for (let calm = 0; calm < 3; calm++) {
      await this.#life.begun;
      await setImmediate();
      if (this.#life.isBusyWith('calls')) calm = -1;
    }
  }

  /** Resolves when no handler is at work, or one waits for virtual time to pass. */
  async #rest(): Promise<void> {
    const { patienceMs = 3000, isCheck } = this.#options;
    let [seen, since] = [-1, 0];
    await this.#quiet();
    while (this.#life.isBusyWith('handlers') && this.#waitsUntil <= this.now()) {
      const came = isCheck ? this.now() : this.#life.ended;
      if (came !== seen) [seen, since] = [came, machine.monotonic()];
      const waitedMs = machine.monotonic() - since;
      const advice = "if it should wait for its time-out, call kit.advance('1h') before";
      const kinds = [...this.#life.leftBehind.running].map(({ kind }) => kind).join(', ') || 'a dead event';
      if (!isCheck && waitedMs > patienceMs)
        throw new Error(`the handler of ${kinds} has not ended in ${patienceMs} ms: ${advice}`);
      await (isCheck ? this.#wait(waitedMs) : machine.sleep(1));
      await this.#quiet();
    }
  }

  /**
   * Waits in a check. Once nothing else can wake its handlers, time goes to their next timer or time-out. While another system may still
   * answer, time goes on as real time does: the timers that end requests must not win.
   */
  async #wait(waitedMs: number): Promise<void> {
    const isNext = await isAtRest(1);
    const due = Math.min(this.#clock.nextDue() ?? Infinity, await this.#nextEvent());
    if (isNext) await this.#pass(due - this.now());
    else if (waitedMs >= STEP_MS) await this.#pass(STEP_MS);
  }

  /**
   * Lets time pass until a moment, or until nothing is left to do but what reminders bring about. In each moment handlers first end, in real
   * time, as their time-outs must not pass while they wait for another system.
   */
  async #handledUntil(end: number): Promise<void> {
    for (let [moment, alone] = [0, 0]; moment < 20_000; moment++) {
      if (this.now() >= end) return;
      await this.handled();
      const next = Math.min(end, await this.#nextEvent());
      const due = await this.#nextDue();
      if (next === Infinity && due > this.now()) return;
      alone = end === Infinity && !this.#options.isCheck && due < next ? alone + 1 : 0;
      if (alone > MOST_ALONE) throw restless(await this.reminders());
      await this.#pass(Math.min(next, due) - this.now());
    }
    throw new Error('the receiver does not settle: after 20,000 moments there is still something to do');
  }

  /**
   * Lets so many milliseconds pass. The receiver looks around twice a second; between two events nobody needs that, so time
   * goes straight to the next moment at which something happens. While a handler is at work, every timer fires at its own time.
   */
  async #pass(ms: number): Promise<void> {
    const end = this.now() + ms;
    for (let rounds = 0; ; rounds++) {
      (await this.#life.begun).dispatcher.wake();
      this.#life.clock.leap(this.now());
      await this.#quiet();
      const due = await this.#nextDue();
      if (this.now() >= end && this.now() < due) return; // what is due at once is done in this moment
      const moment = Math.min(end, due, await this.#nextEvent(), this.#clock.nextDue() ?? end);
      if (moment > this.now()) rounds = 0;
      if (rounds > MOST_ALONE && due <= this.now()) throw restless(await this.reminders());
      await this.#clock.advance(Math.max(0, moment - this.now()));
    }
  }

  /** When a reminder is next due, or a tick while ticks come; Infinity if none is, or the process is dead. */
  async #nextDue(): Promise<number> {
    const [reminder] = this.#life.isOver ? [] : await this.reminders();
    const ticks = this.now() < this.#ticksUntil ? schedulesOf(this.#life.options.app) : [];
    const times = ticks.map(({ data }) => nextOf(JSON.parse(data), this.now()) ?? Infinity);
    return Math.min(reminder?.dueAt ?? Infinity, ...times);
  }

  /**
   * When something is next to be done, or it is worth looking whether a lease has run out; Infinity if nothing is left, all wait, or
   * the process is dead.
   */
  async #nextEvent(): Promise<number> {
    if (this.#life.isOver) return Infinity;
    if (this.#life.isBusyWith('handlers')) return this.#life.clock.nextDue() ?? Infinity;
    const { reports } = await this.#store;
    const { pending, waiting, running, nextAt = Infinity } = await reports.overview();
    const soon = this.now() + GATHER_MS;
    const timer = (this.provider.isBusy ? this.#clock.nextDue() : undefined) ?? Infinity;
    const due = Math.min(timer, waiting > MANY ? Math.max(nextAt, this.now() + TOGETHER_MS) : nextAt);
    // In small steps: a dispatcher that sleeps for longer spares the leases of others.
    if (running > 0) return Math.max(soon, Math.min(due, this.now() + this.#config.LEASE_MS / 4));
    return pending > waiting ? soon : Math.max(soon, due);
  }
}

const restless = ([one]: readonly { readonly name: string; readonly resource: string }[]) =>
  new Error(`reminders come again and again, as "${one?.name}" of ${one?.resource}: use advance('1h')`);

const toldReminder = ({ notification, status, lastError: reason }: KitEvent) =>
  endAsText(String(notification.name), { status, reason });

/** Takes one out of a list. @returns whether it was there */
function taken(list: string[], one: string): boolean {
  const at = list.indexOf(one);
  return at >= 0 && list.splice(at, 1).length > 0;
}
