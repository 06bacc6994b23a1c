import type { Router } from 'express';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { durationOf } from '../base/duration.ts';
import type { Spec } from '../base/schedule.ts';
import { shown } from '../base/thrown.ts';
import type { Kind, Origin, Slot } from '../notification/kinds.ts';
import type { NotificationOf, UnknownNotification } from '../notification/payload.ts';
import type { StatusesClient } from '../provider/index.ts';
import type { Named, Of } from '../store/stored.ts';
import type { Outcome } from './outcome.ts';
import type { ReminderTime, ResourceState, ResourceValue } from './resource-state.ts';
import type { AsJson } from './stored-json.ts';

/**
 * The second argument of a handler: facts about the event beside its payload, and tools.
 * @typeParam App what the `start` of `defineApp` opened
 */
export interface HandlerContext<App = unknown> {
  /**
   * The event's id: the same at every attempt, replay and delivery, so it serves as an idempotency key. That of a subscriber's event ends
   * in `@NAME`, as each subscriber has an event of its own.
   */
  readonly id: string;
  /** The name of the subscriber whose event it is; '' for the handlers without a name. */
  readonly subscriber: string;
  /** How often this event was started, this run included: 1 at first, and 1 again after a replay. Stops and `retry` count, too. */
  readonly attempt: number;
  /** Whether the event runs because it was replayed. */
  readonly replay: boolean;
  /** Where the event comes from. */
  readonly origin: Origin;
  /**
   * Whether a newer event of the same media or channel was handled before this one first ran: do not undo what its handler
   * did. It stays the same at every attempt.
   */
  readonly late: boolean;
  /**
   * The id of the event that `reconcile` recorded in the place of this notification, which has come after all: it is the first of this
   * kind and media or channel after that event. Undefined for all others.
   */
  readonly repeats: string | undefined;
  readonly receivedAt: Date;
  /** The time, in milliseconds since the epoch: the machine's, but virtual in tests and in `events check`. */
  now(): number;
  /** Aborted when the handler's time is over or the service stops; pass it on to everything that waits. */
  readonly signal: AbortSignal;
  /** Names the event in every line. */
  readonly log: Logger;
  /**
   * Runs `fn` once for this event, and returns its stored result, the first time as at retries and replays: a Date comes
   * back as a string. If `fn` throws, nothing is stored. If the process crashes after `fn` ended and before its result is
   * stored, `fn` runs again: to avoid even that, give `ctx.id` as idempotency key to the service that `fn` calls.
   * @param step names the step within this event, with 1 to 200 characters
   * @param fn its result is a value that JSON can hold, at most 1 MB as JSON, or nothing. With any other result the event
   *   ends as `dead`, since a retry would run `fn` again
   * @throws TypeError for another name or if `fn` is no function, before anything runs, and for another result; Error if this run has
   *   called the same step before, unless that threw: in a loop, give each call a name of its own, such as `send ${id}`; Error if the
   *   handler has returned or the attempt has ended, as by its time-out: then `fn` does not begin, or its result is not stored
   */
  once<T>(step: string, fn: () => T | Promise<T>): Promise<AsJson<T>>;
  /** The values that earlier events of the same media or channel left: read and change them. */
  readonly state: ResourceState;
  /**
   * Sets a reminder: when it is due, it becomes an event of the same media or channel, for the handler `reminder`. It is stored with the
   * result of this run, as `state` is. A media or channel has one of each name: if it is set again, its time moves. If it has already become
   * an event that still waits, that event is skipped.
   * @param options `at`, or `after` so many milliseconds from the end of this run, a year at most; `data` is JSON of up to 8 KB
   * @throws TypeError for another name, time or data; RangeError for the 21st reminder of this media or channel; Error if the handler has ended
   */
  remind(name: string, options: ReminderTime & { readonly data?: ResourceValue }): void;
  /**
   * Forgets a reminder, if there is one. If it has become an event that still waits, that event is skipped.
   * @throws as `remind` does
   */
  forget(name: string): void;
  /** The scheduled statuses API; undefined unless STATUSES_BASE_URL and STATUSES_TOKEN are set. */
  readonly statuses: StatusesClient | undefined;
  /** The resources that the `start` of `defineApp` opened for all handlers, such as a pool of connections; undefined without one. */
  readonly app: App;
}

/** Takes one event. It may be called again for the same event, never for two events of one resource at once. */
export type Handler<E, App = unknown> = (
  event: E,
  ctx: HandlerContext<App>,
) => Outcome | void | Promise<Outcome | void>;

/**
 * One handler a kind; `unknown` takes the kinds that are not in the list. Editors show what the provider's specification says of
 * a kind where its handler is written: of a mapped type they would not.
 */
export interface Handlers<App = unknown> {
  /** Media has first been uploaded. */
  readonly media_created?: Handler<NotificationOf<'media_created'>, App>;
  /**
   * Media is first publishable and indexed. Its thumbnail is ready; renditions of higher resolution may still be processing. It is
   * not sent while the publish start lies ahead.
   */
  readonly media_available?: Handler<NotificationOf<'media_available'>, App>;
  /** The thumbnail and all initial renditions are ready. Sent for the first upload only, not for a reupload of the original. */
  readonly conversions_complete?: Handler<NotificationOf<'conversions_complete'>, App>;
  /** Media is updated. */
  readonly media_updated?: Handler<NotificationOf<'media_updated'>, App>;
  /** A reupload has been initiated, and is not processed yet. conversions_complete and media_available follow when they apply. */
  readonly media_reuploaded?: Handler<NotificationOf<'media_reuploaded'>, App>;
  /** Media is deleted. */
  readonly media_deleted?: Handler<NotificationOf<'media_deleted'>, App>;
  /** A thumbnail is created. */
  readonly thumbnail_created?: Handler<NotificationOf<'thumbnail_created'>, App>;
  /** A thumbnail is deleted. */
  readonly thumbnail_deleted?: Handler<NotificationOf<'thumbnail_deleted'>, App>;
  /** A text track is created. */
  readonly track_created?: Handler<NotificationOf<'track_created'>, App>;
  /** A text track is deleted. */
  readonly track_deleted?: Handler<NotificationOf<'track_deleted'>, App>;
  /** A live channel is created. */
  readonly channel_created?: Handler<NotificationOf<'channel_created'>, App>;
  /** A live channel enters an active state. */
  readonly channel_active?: Handler<NotificationOf<'channel_active'>, App>;
  /** A live channel enters an idle state. */
  readonly channel_idle?: Handler<NotificationOf<'channel_idle'>, App>;
  /** A notification of a kind that this version does not know. */
  readonly unknown?: Handler<UnknownNotification, App>;
  /** A reminder is due, which a handler of this object set (`ctx.remind`). */
  readonly reminder?: Handler<Reminder, App>;
}

/** A reminder that is due, or a time of a schedule, which is a reminder that sets itself. */
export interface Reminder {
  /** `reminder`, or `schedule:NAME` */
  readonly event: string;
  readonly name: string;
  /** the `data` that it was set with, not checked; null without any. For a schedule, its times */
  readonly data: unknown;
  /** when it was set and when it was due, in ISO 8601 */
  readonly set_at: string;
  readonly due_at: string;
  /** the media or channel that it was set for; neither, if an event of neither has set it */
  readonly media_id?: string;
  readonly channel_id?: string;
}

/**
 * Gives the handlers of an object their types: a misspelt kind or a member that the kind does not have is a type error.
 * @typeParam App the type of `ctx.app`, where `defineApp` has a `start`
 * @example
 * export const media = defineHandlers({
 *   async media_available(event, ctx) {
 *     ctx.log.info({ media: event.media_id }, 'media can be published');
 *   },
 * });
 */
export function defineHandlers<App = unknown>(handlers: Handlers<App>): Handlers<App> {
  return handlers;
}

/** The `ctx.app` that several handlers expect together. A handler that is written in place has `never` there, and expects nothing. */
type AppOf<Part> = (Part extends Handlers<infer App> ? (app: Expected<App>) => void : never) extends (
  app: infer All,
) => void
  ? All
  : never;

type Expected<App> = [App] extends [never] ? unknown : App;

/**
 * Combines handlers of several files. Of `ctx.app` the result expects all that each of them expects.
 * @throws TypeError if two of them take the same kind
 */
export function combineHandlers<Parts extends readonly Handlers<never>[]>(
  ...parts: Parts
): Handlers<AppOf<Parts[number]>> {
  const all = parts.flatMap((part) => Object.entries(part));
  const mounted = all.filter(([, handler]) => handler !== undefined); // as where one is mounted only if it is configured
  const twice = repeatedOf(mounted.map(([kind]) => kind));
  if (twice !== undefined)
    throw new TypeError(`two handlers for ${twice}: write one for both, or make one a subscriber of the app`);
  return Object.fromEntries(mounted);
}

/**
 * Another handler in the place of one, for one start of an event.
 * @param slot its slot; that of a subscriber's ends in its name, as `media_available@search`
 */
type Wrap = (handler: Handler<object>, slot: string, event: Named & Of) => Handler<object>;

/** Handlers, each of them perhaps wrapped in another one when it runs: that is for the kit itself. */
export interface Wrapped {
  readonly handlers: Handlers;
  readonly wrap?: Wrap;
}

/** The same app, each of its handlers wrapped in another one, around what wraps it already. */
export function wrapApp<A extends Wrapped>(app: A, wrap: Wrap): A {
  return { ...app, wrap: (handler, ...of) => wrap(app.wrap?.(handler, ...of) ?? handler, ...of) };
}

const mapped = <V, W>(of: Readonly<Record<string, V>> = {}, fn: (value: V, name: string) => W) =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, fn(value, name)]));

type Times = { readonly [member in 'every' | 'cron' | 'zone']?: string | undefined };

/** When a schedule comes. @throws TypeError if that is not as it must be */
export function specOf({ every, cron, zone = 'UTC' }: Times): Spec {
  if (cron !== undefined && every === undefined) return { cron, zone };
  const ms = durationOf(every ?? '') ?? 0;
  if (ms >= 1000 && cron === undefined) return { every: ms };
  const either = "either cron: '0 6 * * *', or every: '1h', a length of time of a second or more";
  throw new TypeError(`needs ${either}, not ${shown({ every, cron })}`);
}

/** The schedules of an app, as the store knows them. */
export const schedulesOf = ({ schedule = {} }: Pick<AppDefinition, 'schedule'>) =>
  Object.entries(schedule).map(([name, one]) => ({
    resource: `schedule:${name}`,
    data: JSON.stringify(specOf(one)),
  }));

/** The first that stands in a list twice. */
export const repeatedOf = (kinds: readonly string[]) => kinds.find((kind, at) => kinds.indexOf(kind) < at);

/** The limits of an app in one form: a limit of one kind is a limit of a list with one kind. */
export const limitsOf = ({ limits }: Pick<AppDefinition, 'limits'>) =>
  mapped(limits, (one, name) => (typeof one === 'number' ? { kinds: [name], most: one } : one));

/** A value that an event left in `ctx.state` under a name. */
export interface StateOf<T> {
  /** `media:ID` or `channel:ID` */
  readonly resource: string;
  readonly value: T;
}

/** The argument of the `start` of an app. */
export interface StartContext<Settings = unknown> {
  /** the settings of the app, checked */
  readonly settings: Settings;
  readonly log: Logger;
  /**
   * The values that handlers left in `ctx.state` under one name, in the order of the ids, read in small steps. Use your own type for T only
   * if your handlers wrote that name.
   * @param of all channels, or all media
   * @param subscriber whose; without it, those of the handlers without a name
   */
  states<T = unknown>(of: 'channel' | 'media', name: string, subscriber?: string): AsyncIterable<StateOf<T>>;
  /** The values that handlers left in `ctx.state` of one resource, by name. @param resource `media:ID` or `channel:ID` */
  state(resource: string, subscriber?: string): Promise<Readonly<Record<string, unknown>>>;
  /** aborted when the process stops, once no handler runs any more and just before `close`: for work that `start` began */
  readonly signal: AbortSignal;
}

/** The result of `start`. */
export interface Started<App> {
  /** the value of `ctx.app` */
  readonly app: App;
  /** closes it: called at a stop, after the last handler */
  readonly close?: (() => unknown) | undefined;
}

/** The second argument of `routes`. */
export interface RoutesContext<Settings = unknown, App = unknown> extends StartContext<Settings> {
  readonly app: App;
}

/** At most `most` handlers run at once, of all these kinds together. */
export type Limit = { readonly kinds: readonly Slot[]; readonly most: number };

/** Facts about a dead event. */
export interface DeadLetter {
  readonly id: string;
  /** why it is dead: the error of the last attempt, or the reason of `fail` */
  readonly error: string;
  /** how many starts used an attempt up */
  readonly attempts: number;
}

/** A task for certain times: it runs once in all processes, and never twice at a time. Of missed times, only the last one runs. */
export interface Schedule<App = unknown> {
  /** such as `1h`: at each multiple of it since 1970, in UTC; a second at least. Either this or `cron` */
  readonly every?: string;
  /** as crontab has it: `0 6 * * *` */
  readonly cron?: string;
  /** the time zone of `cron`, such as `Europe/Berlin`; UTC without it */
  readonly zone?: string;
  /** how long `run` may take, in place of HANDLER_TIMEOUT_MS */
  readonly timeoutMs?: number;
  readonly run: Handler<Reminder, App>;
}

/** A notification that should have come, without the id of a webhook. */
export type ExpectedNotification = {
  [K in Kind]: Omit<NotificationOf<K>, 'webhook_id' | 'event_time'> & { readonly event_time: string | Date };
}[Kind];

/** How the kit finds notifications that never came, and records events in their place. Lengths of time are like `1h`. */
export interface Reconcile<App = unknown> {
  /** how often; `1h` without it */
  readonly every?: string;
  /** notifications younger than this are not missed yet: they may be on their way; `15m` without it */
  readonly after?: string;
  /** how far a pass looks back: from the start of the pass before it, or from now for the first one; `2d` without it */
  readonly lookback?: string;
  /** if more than this are missing in one pass, none is recorded; 1000 without it */
  readonly most?: number;
  /**
   * Yields the notifications that should have come since a time, in any order, as the provider's API or your own database has them. Of each
   * media or channel and kind the newest is enough.
   */
  expected(
    since: Date,
    ctx: { readonly app: App; readonly log: Logger; readonly signal: AbortSignal },
  ): AsyncIterable<ExpectedNotification>;
}

/** Handlers that get events of their own, and limits for them. */
export interface Subscriber<App = unknown> {
  /** the app's own handlers get every kind; those of a subscriber, the kinds that they take */
  readonly handlers: Handlers<App>;
  /**
   * How many handlers of a kind run at once in one process, for example because they call a service that allows no more; or of several kinds
   * together, under any name: `{ track_created: 2, cms: { kinds: ['media_available', 'media_updated'], most: 4 } }`. Other kinds do not wait
   * for those that are at their limit, except in the same media or channel: there the oldest event still goes first.
   */
  readonly limits?: Limits | undefined;
}

type Limits = Readonly<Record<string, number | Limit>>;

/** Handlers with settings of their own, with what they share, and with pages. */
export interface AppDefinition<Schema extends z.ZodObject = z.ZodObject, App = unknown>
  extends Subscriber<App> {
  /**
   * Your variables of the environment, as a zod schema. They are checked at the start, right after the kit's, and the doctor
   * lists them. One that is set to nothing counts as not set.
   */
  readonly settings?: Schema | undefined;
  /**
   * Opens what handlers share. It runs before the receiver listens; if it throws, the start ends with that error. So let it open
   * only resources that are always available. Connect to a service that may be down for a while at its first use, as pools do.
   */
  readonly start?:
    | ((ctx: StartContext<z.output<Schema>>) => Started<App> | Promise<Started<App>>)
    | undefined;
  /**
   * Subscribers, by name (`[a-z][a-z0-9-]{0,39}`, not main or all). Each gets an event of its own of every notification of a kind that it
   * handles, with its own attempts, steps, state and end: none waits for another, or fails because of one.
   */
  readonly subscribers?: Readonly<Record<string, Subscriber<App>>> | undefined;
  /** Tasks for certain times, by name. Names are like those of subscribers. Each schedule has a `ctx.state` of its own. */
  readonly schedule?: Readonly<Record<string, Schedule<App>>> | undefined;
  /** Finds notifications that never came, as the schedule `reconcile`. One process does each pass. */
  readonly reconcile?: Reconcile<App> | undefined;
  /**
   * Mounts pages of your own below `/app/` of the admin listener, behind its token; they are never on the public listener. The
   * policy of the admin listener holds for them: scripts and styles come from files, never inline.
   */
  readonly routes?:
    | ((router: Router, ctx: RoutesContext<z.output<Schema>, NoInfer<App>>) => void | Promise<void>)
    | undefined;
  /**
   * Called when an event has become dead, for example to tell people. It is called after that is stored, at most once, and not at all if the
   * process ends just then. Handling does not wait for it, and a stop waits as long as for handlers. What it throws is logged.
   * @param event the notification as it was received, valid or not: check its members
   */
  readonly onDead?:
    | ((event: UnknownNotification, dead: DeadLetter, app: NoInfer<App>) => unknown)
    | undefined;
}

/** Where handlers expect something of `ctx.app`, a `start` must open it. */
type Opening<App> = undefined extends App ? unknown : { readonly start: unknown };

/** The result of `defineApp`: export it as `app` from the module that HANDLERS names. */
export type DefinedApp = AppDefinition;

/**
 * Puts handlers together with settings, shared resources and pages of their own. Where functions are written in place, write the
 * members in this order: `settings`, `start`, `handlers`, `subscribers`, `schedule`, `reconcile`, `routes`, `onDead`, since TypeScript takes the types of each from those before it.
 * @example
 * export const app = defineApp({
 *   settings: z.object({ CRM_URL: z.url() }),
 *   start({ settings }) {
 *     const crm = new Crm(settings.CRM_URL);
 *     return { app: { crm }, close: () => crm.end() };
 *   },
 *   handlers: {
 *     async media_available(event, ctx) {
 *       await ctx.app.crm.publish(event.media_id, { signal: ctx.signal });
 *     },
 *   },
 * });
 */
export function defineApp<Schema extends z.ZodObject = z.ZodObject<Record<never, never>>, App = undefined>(
  definition: AppDefinition<Schema, App> & Opening<App>,
): DefinedApp {
  return definition as DefinedApp; // its functions get settings, and the app that `start` opened, as they are
}
