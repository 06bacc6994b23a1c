import type { Stage } from './processing.ts';

/** A media as the control routes show it. */
export interface MediaView {
  readonly media_id: string;
  readonly site_id: string;
  /** How far the latest upload has been processed. */
  readonly stage: Stage;
  /** How often an original was uploaded: 1, and one more for each reupload. */
  readonly uploads: number;
  /** The publish start, ISO 8601; null where there is none, which is to say at once. */
  readonly publish_at: string | null;
  /** Whether media_available has been sent for the latest upload. */
  readonly available: boolean;
  readonly thumbnail_ids: readonly string[];
  readonly track_ids: readonly string[];
}

/** A media as the simulation keeps it. */
export interface MediaItem {
  readonly media_id: string;
  readonly site_id: string;
  stage: Stage;
  uploads: number;
  /** Milliseconds since the epoch. */
  publishAt: number | null;
  available: boolean;
  /** Whether processing has made a thumbnail; a reupload does not make another. */
  hasPoster: boolean;
  readonly thumbnails: Set<string>;
  readonly tracks: Set<string>;
  stopProcessing: () => void;
  forgetPublishStart: () => void;
}

/** What may be told of a media. */
export function viewOf(media: MediaItem): MediaView {
  const { media_id, site_id, stage, uploads, publishAt, available, thumbnails, tracks } = media;
  return {
    media_id,
    site_id,
    stage,
    uploads,
    publish_at: publishAt === null ? null : new Date(publishAt).toISOString(),
    available,
    thumbnail_ids: [...thumbnails],
    track_ids: [...tracks],
  };
}
