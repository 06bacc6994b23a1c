// The package's door for handlers: what a file in src/handlers/ imports. It loads no server and no database, so that handlers
// can be tested, and type-checked, by themselves.

export type { Router } from 'express';
export { durationOf } from './base/duration.ts';
export { type ErrorCode, KitError } from './base/errors.ts';
export {
  type AppDefinition,
  combineHandlers,
  type DeadLetter,
  type DefinedApp,
  defineApp,
  defineHandlers,
  type ExpectedNotification,
  type Handler,
  type HandlerContext,
  type Handlers,
  type Reconcile,
  type Reminder,
  type RoutesContext,
  type Schedule,
  type StartContext,
} from './dispatch/handler.ts';
export { fail, type Outcome, retry, skip } from './dispatch/outcome.ts';
export type { ResourceState } from './dispatch/resource-state.ts';
export { type Kind, kindNames, type Origin } from './notification/kinds.ts';
export type { Notification, NotificationOf, UnknownNotification } from './notification/payload.ts';
export { ProviderError, type ProviderErrorCode } from './provider/provider-error.ts';
