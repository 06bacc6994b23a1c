export { VirtualClock } from '../base/virtual-clock.ts';
export { controlCatalogue } from './control-routes.ts';
export type { FaultName, Faults, FaultsChange } from './deliveries/delivery-faults.ts';
export { faultNames } from './deliveries/delivery-faults.ts';
export type { Attempt, Delivery, DeliveryFilter, DeliveryState } from './deliveries/delivery-log.ts';
export { MockError } from './mock-error.ts';
export { type MockOptions, mockDefaults } from './mock-options.ts';
export { MockProvider } from './mock-provider.ts';
export type { ThumbnailView, TrackView } from './simulation/attachments.ts';
export type { ChannelState, ChannelView } from './simulation/live-channels.ts';
export type { MediaView } from './simulation/media-library.ts';
export type {
  ChannelInput,
  MediaChange,
  MediaInput,
  ThumbnailInput,
  TrackInput,
} from './simulation/simulation-inputs.ts';
export { smallLife } from './small-life.ts';
export { defaultTokens } from './statuses/index.ts';
export type { CreatedWebhook, Metadata, MetadataInput, Webhook } from './webhooks/webhook-registry.ts';
