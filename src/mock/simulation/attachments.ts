import { MockError } from '../mock-error.ts';
import type { Random } from '../random.ts';
import type { Emit } from './emit.ts';
import type { MediaLibrary } from './media-library.ts';
import type { ThumbnailInput, TrackInput } from './simulation-inputs.ts';

/** A thumbnail as the control routes show it. */
export interface ThumbnailView {
  readonly thumbnail_id: string;
  readonly media_id: string;
}

/** A text track as the control routes show it. */
export interface TrackView {
  readonly track_id: string;
  readonly media_id: string;
}

/** The dependencies of attachments. */
export interface AttachmentsNeeds {
  readonly library: MediaLibrary;
  readonly random: Random;
  readonly emit: Emit;
}

/** The thumbnails and text tracks of media. Each exists from its creation to its deletion and has no other state. */
export class Attachments {
  readonly #library: MediaLibrary;
  readonly #random: Random;
  readonly #emit: Emit;

  constructor({ library, random, emit }: AttachmentsNeeds) {
    this.#library = library;
    this.#random = random;
    this.#emit = emit;
  }

  /** @throws MockError 404 if there is no such media, 400 if the id is taken */
  createThumbnail(mediaId: string, { thumbnail_id = this.#random.id(8) }: ThumbnailInput): ThumbnailView {
    const { thumbnails, site_id } = this.#library.find(mediaId);
    if (thumbnails.has(thumbnail_id)) throw taken('thumbnail', thumbnail_id);
    thumbnails.add(thumbnail_id);
    this.#emit('thumbnail_created', site_id, { thumbnail_id, media_id: mediaId });
    return { thumbnail_id, media_id: mediaId };
  }

  /** @throws MockError 404 */
  deleteThumbnail(mediaId: string, id: string): void {
    const { thumbnails, site_id } = this.#library.find(mediaId);
    if (!thumbnails.delete(id)) throw unknown('thumbnail', id);
    this.#emit('thumbnail_deleted', site_id, { thumbnail_id: id, media_id: mediaId });
  }

  /** @throws MockError 404 if there is no such media, 400 if the id is taken */
  createTrack(mediaId: string, { track_id = this.#random.id(8) }: TrackInput): TrackView {
    const { tracks, site_id } = this.#library.find(mediaId);
    if (tracks.has(track_id)) throw taken('track', track_id);
    tracks.add(track_id);
    this.#emit('track_created', site_id, { track_id, media_id: mediaId });
    return { track_id, media_id: mediaId };
  }

  /** @throws MockError 404 */
  deleteTrack(mediaId: string, id: string): void {
    const { tracks, site_id } = this.#library.find(mediaId);
    if (!tracks.delete(id)) throw unknown('track', id);
    this.#emit('track_deleted', site_id, { track_id: id, media_id: mediaId });
  }
}

function taken(what: string, id: string): MockError {
  return new MockError(400, `the media has a ${what} ${id} already`);
}

function unknown(what: string, id: string): MockError {
  return new MockError(404, `the media has no ${what} ${id}`);
}
