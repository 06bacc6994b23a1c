export { httpUrlOf } from '../base/url.ts';
export { type CallOptions, type ClientOptions, type Retry, retryAfterOf } from './http-client.ts';
export { ProviderError, type ProviderErrorCode, type ProviderFailure } from './provider-error.ts';
export * from './statuses-client.ts';
export * from './webhooks-client.ts';
