import type { Router } from 'express';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { Handlers } from './handler.ts';

export type { Router } from 'express';

/** What the `start` of an app is given. */
export interface StartContext<Settings = unknown> {
  /** those of the app, checked */
  readonly settings: Settings;
  readonly log: Logger;
  /** aborted when the process stops, once no handler runs any more and just before `close`: for work that `start` began */
  readonly signal: AbortSignal;
}

/** What `start` has opened. */
export interface Started<App> {
  /** the value of `ctx.app` */
  readonly app: App;
  /** closes it: called at a stop, after the last handler */
  readonly close?: (() => unknown) | undefined;
}

/** What an event left in `ctx.state` under one name. */
export interface StateOf<T> {
  /** `media:ID` or `channel:ID` */
  readonly resource: string;
  readonly value: T;
}

/** The second argument of `routes`. */
export interface RoutesContext<Settings = unknown, App = unknown> {
  readonly app: App;
  readonly settings: Settings;
  readonly log: Logger;
  /**
   * What handlers left in `ctx.state` under one name, in the order of the ids, read in small steps. Use your own type for T only
   * if your handlers wrote that name.
   * @param of all channels, or all media
   */
  states<T = unknown>(of: 'channel' | 'media', name: string): AsyncIterable<StateOf<T>>;
  /** What handlers left in `ctx.state` of one resource, by name. @param resource `media:ID` or `channel:ID` */
  state(resource: string): Promise<Readonly<Record<string, unknown>>>;
}

/** Handlers with settings of their own, with what they share, and with pages. */
export interface AppDefinition<Schema extends z.ZodObject = z.ZodObject, App = unknown> {
  /**
   * Your variables of the environment, as a zod schema. They are checked at the start, right after the kit's, and the doctor
   * lists them. One that is set to nothing counts as not set.
   */
  readonly settings?: Schema | undefined;
  /**
   * Opens what handlers share. It runs before the receiver listens; if it throws, the start ends with that error. So let it open
   * only what is always there, and leave what may be down for a while to connect when it is used, as pools of connections do.
   */
  readonly start?:
    | ((ctx: StartContext<z.output<Schema>>) => Started<App> | Promise<Started<App>>)
    | undefined;
  readonly handlers: Handlers<App>;
  /**
   * Mounts pages of your own below `/app/` of the admin listener, behind its token; they are never on the public listener. The
   * policy of the admin listener holds for them: scripts and styles come from files, never inline.
   */
  readonly routes?:
    | ((router: Router, ctx: RoutesContext<z.output<Schema>, NoInfer<App>>) => void | Promise<void>)
    | undefined;
}

/** Where handlers expect something of `ctx.app`, a `start` must open it. */
type Opening<App> = undefined extends App ? unknown : { readonly start: unknown };

/** What `defineApp` gives: export it as `app` from the module that HANDLERS names. */
export type DefinedApp = AppDefinition;

/**
 * Puts handlers together with settings, shared resources and pages of their own. Where functions are written in place, write the
 * members in this order: `settings`, `start`, `handlers`, `routes`, since TypeScript takes the types of each from those before it.
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
  return definition as DefinedApp; // settings, and what `start` gives, go to its functions as they are
}
