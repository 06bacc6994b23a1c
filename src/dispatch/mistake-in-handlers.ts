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
