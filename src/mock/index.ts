export { controlCatalogue } from './control/catalogue.ts';
export type { Attempt, Delivery, DeliveryState } from './deliveries/delivery.ts';
export type { FaultName, Faults, FaultsChange } from './deliveries/faults.ts';
export { faultNames } from './deliveries/faults.ts';
export type { DeliveryFilter } from './deliveries/log.ts';
export { MockError } from './mock-error.ts';
export { type MockOptions, mockDefaults } from './options.ts';
export { MockProvider } from './provider.ts';
export type { ThumbnailView, TrackView } from './simulation/attachments.ts';
export type { ChannelState, ChannelView } from './simulation/channels.ts';
export type {
  ChannelInput,
  MediaChange,
  MediaInput,
  ThumbnailInput,
  TrackInput,
} from './simulation/inputs.ts';
export type { MediaView } from './simulation/media-item.ts';
export { defaultTokens } from './statuses/index.ts';
export type { Metadata, MetadataInput } from './webhooks/metadata.ts';
export type { CreatedWebhook, Webhook } from './webhooks/webhook.ts';
