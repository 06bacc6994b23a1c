export { VirtualClock } from '../base/virtual-clock.ts';
export { controlCatalogue } from './control-routes.ts';
export type {
  Attempt,
  Delivery,
  DeliveryFilter,
  DeliveryState,
  FaultName,
  Faults,
  FaultsChange,
} from './delivery.ts';
export { faultNames } from './delivery.ts';
export { type MockOptions, mockDefaults } from './mock-options.ts';
export { MockProvider } from './mock-provider.ts';
export { MockError } from './requests.ts';
export type { ChannelInput, ChannelView, MediaChange, MediaInput, MediaView } from './simulation.ts';
export { smallLife } from './small-life.ts';
export { defaultTokens } from './statuses/index.ts';
export type { CreatedWebhook, Metadata, MetadataInput, Webhook } from './webhooks.ts';
