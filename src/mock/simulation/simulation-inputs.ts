import { z } from 'zod';

const id = z.string().min(1).max(200);
const publishStart = z.iso.datetime({
  offset: true,
  error: 'must be an ISO 8601 date and time with an offset',
});

/** What an upload needs; an id is drawn where none is given. */
export const mediaSchema = z.strictObject({
  site_id: id,
  media_id: id.optional(),
  publish_at: publishStart.nullable().optional(),
});

/** What an update may change that the simulation cares for. */
export const mediaChangeSchema = z.strictObject({ publish_at: publishStart.nullable().optional() });

/** What a thumbnail may be given. */
export const thumbnailSchema = z.strictObject({ thumbnail_id: id.optional() });

/** What a text track may be given. */
export const trackSchema = z.strictObject({ track_id: id.optional() });

/** What a live channel needs. */
export const channelSchema = z.strictObject({ site_id: id, channel_id: id.optional() });

export type MediaInput = z.input<typeof mediaSchema>;
export type MediaChange = z.input<typeof mediaChangeSchema>;
export type ThumbnailInput = z.input<typeof thumbnailSchema>;
export type TrackInput = z.input<typeof trackSchema>;
export type ChannelInput = z.input<typeof channelSchema>;
