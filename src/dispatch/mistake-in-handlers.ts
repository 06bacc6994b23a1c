import { isKind, kindNames } from '../notification/kinds.ts';

/** What is wrong with an object of handlers, as `a handler for ...`; undefined if nothing is. */
export function mistakeInHandlers(handlers: object): string | undefined {
  for (const [kind, handler] of Object.entries(handlers)) {
    if (!isKind(kind) && kind !== 'unknown')
      return `a handler for ${kind}, but the kinds are ${kindNames.join(', ')} and unknown`;
    if (handler !== undefined && typeof handler !== 'function')
      return `a handler for ${kind} that is no function`;
  }
  return undefined;
}

/** Whether somebody has not awaited it. A promise has no members, and would pass for handlers of no kind. */
export function isPromise(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
