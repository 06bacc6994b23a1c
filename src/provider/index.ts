export { httpUrlOf } from '../base/http-url.ts';
export type { CallOptions, ClientOptions, Retry } from './client-options.ts';
export { ProviderError, type ProviderErrorCode, type ProviderFailure } from './provider-error.ts';
export { allWebhooks, findWebhook, isNotFound, sentBack } from './registered-webhooks.ts';
export { retryAfterOf } from './retry.ts';
export type {
  MediaAttachment,
  NewPoll,
  NewStatus,
  ScheduledStatus,
  Status,
  StatusParams,
  Visibility,
} from './status-schemas.ts';
export {
  type CreationOptions,
  StatusesClient,
  type StatusesClientOptions,
  type StatusListing,
  type StatusPage,
  type StatusQuery,
} from './statuses-client.ts';
export type { CreatedWebhook, NewWebhook, Webhook, WebhookMetadata, WebhookPage } from './webhook-schemas.ts';
export { type WebhookQuery, WebhooksClient, type WebhooksClientOptions } from './webhooks-client.ts';
