import type { Handler, HandlerContext, Handlers } from './handler.ts';

/** A run of a handler, with something done around it. */
export interface WrappedRun {
  readonly kind: string;
  readonly event: Readonly<Record<string, unknown>>;
  readonly ctx: HandlerContext;
  /** runs the handler, with another context if one is given */
  run(ctx?: HandlerContext): unknown;
}

/** The same handlers, with something done around each run. @param wrap its result is that of the handler */
export function around(handlers: Handlers, wrap: (run: WrappedRun) => Promise<unknown>): Handlers {
  const wrapped = Object.entries(handlers)
    .filter(([, handler]) => handler !== undefined)
    .map(([kind, handler]: [string, Handler<never>]) => [
      kind,
      (event: never, ctx: HandlerContext) =>
        wrap({ kind, event, ctx, run: (own = ctx) => handler(event, own) }),
    ]);
  return Object.fromEntries(wrapped);
}
