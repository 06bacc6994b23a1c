// The package's door for handlers: what a file in src/handlers/ imports. It loads no server and no database, so that handlers
// can be tested, and type-checked, by themselves.

export { type ErrorCode, KitError } from './base/errors.ts';
export {
  type AppDefinition,
  type AsJson,
  combineHandlers,
  type DeadLetter,
  type DefinedApp,
  defineApp,
  defineHandlers,
  fail,
  type Handler,
  type HandlerContext,
  type Handlers,
  type Limit,
  type Outcome,
  type ResourceState,
  type Router,
  type RoutesContext,
  retry,
  type StartContext,
  type Started,
  type StateOf,
  skip,
} from './dispatch/handler.ts';
export { type Kind, kindNames } from './notification/kinds.ts';
export type { Notification, NotificationOf, UnknownNotification } from './notification/payload.ts';
export { ProviderError, type ProviderErrorCode } from './provider/provider-error.ts';
