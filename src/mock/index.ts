export { controlCatalogue } from './control/catalogue.ts';
export type { Attempt, Delivery, DeliveryState } from './deliveries/delivery.ts';
export type { FaultName, Faults, FaultsChange } from './deliveries/delivery-faults.ts';
export { faultNames } from './deliveries/delivery-faults.ts';
export type { DeliveryFilter } from './deliveries/delivery-log.ts';
export { MockError } from './mock-error.ts';
export { type MockOptions, mockDefaults } from './mock-options.ts';
export { MockProvider } from './mock-provider.ts';
export type { ThumbnailView, TrackView } from './simulation/attachments.ts';
export type { ChannelState, ChannelView } from './simulation/live-channels.ts';
export type { MediaView } from './simulation/media-item.ts';
export type {
  ChannelInput,
  MediaChange,
  MediaInput,
  ThumbnailInput,
  TrackInput,
} from './simulation/simulation-inputs.ts';
export { defaultTokens } from './statuses/index.ts';
export type { Metadata, MetadataInput } from './webhooks/metadata.ts';
export type { CreatedWebhook, Webhook } from './webhooks/webhook.ts';
