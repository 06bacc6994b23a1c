import { z } from 'zod';

const id = z.string().min(1).max(200);
const publishStart = z.iso.datetime({
  offset: true,
  error: 'must be an ISO 8601 date and time with an offset',
});

/** The input of an upload. The simulation draws an id if none is given. */
export const mediaSchema = z.strictObject({
  site_id: id,
  media_id: id.optional(),
  publish_at: publishStart.nullable().optional(),
});

/** The members of an update that the simulation uses. */
export const mediaChangeSchema = z.strictObject({ publish_at: publishStart.nullable().optional() });

/** The input of a new thumbnail. */
export const thumbnailSchema = z.strictObject({ thumbnail_id: id.optional() });

/** The input of a new text track. */
export const trackSchema = z.strictObject({ track_id: id.optional() });

/** The input of a new live channel. */
export const channelSchema = z.strictObject({ site_id: id, channel_id: id.optional() });

export type MediaInput = z.input<typeof mediaSchema>;
export type MediaChange = z.input<typeof mediaChangeSchema>;
export type ThumbnailInput = z.input<typeof thumbnailSchema>;
export type TrackInput = z.input<typeof trackSchema>;
export type ChannelInput = z.input<typeof channelSchema>;
