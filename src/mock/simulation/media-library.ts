import type { Clock } from '../../base/clock.ts';
import { MockError } from '../mock-error.ts';
import type { Pending } from '../pending.ts';
import type { Random } from '../random.ts';
import type { Emit } from './emit.ts';
import type { MediaChange, MediaInput } from './simulation-inputs.ts';

/** How far an upload has been processed. */
export type Stage = 'received' | 'thumbnail' | 'indexed' | 'complete';

/** A media as the control routes show it. */
export interface MediaView {
  readonly media_id: string;
  readonly site_id: string;
  /** How far the latest upload has been processed. */
  readonly stage: Stage;
  /** How often an original was uploaded: 1, and one more for each reupload. */
  readonly uploads: number;
  /** The publish start, ISO 8601; null for at once. */
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

/** The dependencies of a media library. */
export interface MediaLibraryNeeds {
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: Emit;
  readonly pending: Pending;
  /** How long it takes to process an upload. */
  readonly processingMs: number;
}

/** The media of all sites, and their life. docs/mock.md draws the state machines. */
export class MediaLibrary {
  readonly #needs: MediaLibraryNeeds;
  readonly #media = new Map<string, MediaItem>();

  constructor(needs: MediaLibraryNeeds) {
    this.#needs = needs;
  }

  /** A first upload. @throws MockError 400 if the id is taken */
  create({ site_id, media_id = this.#needs.random.id(8), publish_at = null }: MediaInput): MediaView {
    if (this.#media.has(media_id)) throw new MockError(400, `there is a media ${media_id} already`);
    const media: MediaItem = {
      media_id,
      site_id,
      stage: 'received',
      uploads: 1,
      publishAt: publish_at === null ? null : Date.parse(publish_at),
      available: false,
      hasPoster: false,
      thumbnails: new Set(),
      tracks: new Set(),
      stopProcessing: () => {},
      forgetPublishStart: () => {},
    };
    this.#media.set(media_id, media);
    this.#needs.emit('media_created', site_id, { media_id });
    this.#process(media);
    return viewOf(media);
  }

  /** @throws MockError 404 */
  update(id: string, { publish_at }: MediaChange = {}): MediaView {
    const media = this.find(id);
    if (publish_at !== undefined) media.publishAt = publish_at === null ? null : Date.parse(publish_at);
    this.#needs.emit('media_updated', media.site_id, { media_id: id });
    this.#offer(media);
    return viewOf(media);
  }

  /** Uploads a new original, and cancels the remaining steps of the previous upload. @throws MockError 404 */
  reupload(id: string): MediaView {
    const media = this.find(id);
    media.stage = 'received';
    media.uploads++;
    media.available = false;
    this.#needs.emit('media_reuploaded', media.site_id, { media_id: id });
    this.#process(media);
    return viewOf(media);
  }

  /** Moves the publish start to now. @throws MockError 404 */
  publish(id: string): MediaView {
    const media = this.find(id);
    if (media.publishAt !== null) media.publishAt = Math.min(media.publishAt, this.#needs.clock.now());
    this.#offer(media);
    return viewOf(media);
  }

  /** @throws MockError 404 */
  delete(id: string): void {
    const media = this.find(id);
    this.#stop(media);
    this.#media.delete(id);
    this.#needs.emit('media_deleted', media.site_id, { media_id: id });
  }

  /** @throws MockError 404 */
  find(id: string): MediaItem {
    const media = this.#media.get(id);
    if (!media) throw new MockError(404, `there is no media ${id}`);
    return media;
  }

  clear(): void {
    this.#media.clear();
  }

  #process(media: MediaItem): void {
    const { clock, pending, processingMs } = this.#needs;
    this.#stop(media);
    pending.begin();
    let isUnderWay = true;
    const end = () => {
      if (isUnderWay) pending.end();
      isUnderWay = false;
    };
    const cancel = processUpload(clock, processingMs, (stage) => {
      this.#reach(media, stage);
      if (stage === 'complete') end();
    });
    media.stopProcessing = () => {
      cancel();
      end();
    };
  }

  #reach(media: MediaItem, stage: Stage): void {
    const { emit, random } = this.#needs;
    const { media_id, site_id } = media;
    media.stage = stage;
    if (stage === 'thumbnail' && !media.hasPoster) {
      const thumbnail_id = random.id(8);
      media.hasPoster = true;
      media.thumbnails.add(thumbnail_id);
      emit('thumbnail_created', site_id, { thumbnail_id, media_id });
    }
    if (stage === 'indexed') this.#offer(media);
    if (stage === 'complete' && media.uploads === 1) emit('conversions_complete', site_id, { media_id });
  }

  /** Sends media_available, once an upload, as soon as the media is indexed and its publish start is reached. */
  #offer(media: MediaItem): void {
    const { clock, emit } = this.#needs;
    media.forgetPublishStart();
    if (media.available || (media.stage !== 'indexed' && media.stage !== 'complete')) return;
    const ahead = (media.publishAt ?? 0) - clock.now();
    if (ahead > 0) {
      media.forgetPublishStart = clock.after(ahead, () => this.#offer(media));
      return;
    }
    media.available = true;
    emit('media_available', media.site_id, { media_id: media.media_id });
  }

  #stop(media: MediaItem): void {
    media.stopProcessing();
    media.forgetPublishStart();
  }
}

/** A media as the control routes show it. */
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

/** When each stage is reached, as a part of the whole time. */
const stages: readonly (readonly [Stage, number])[] = [
  ['thumbnail', 0.25],
  ['indexed', 0.5],
  ['complete', 1],
];

/**
 * Goes through the stages after `received`, one after the other, over `totalMs` on the clock.
 * @returns a function that stops it; it may be called after the end too
 */
export function processUpload(clock: Clock, totalMs: number, reach: (stage: Stage) => void): () => void {
  const begun = clock.now();
  let cancel = () => {};
  const next = (index: number): void => {
    const stage = stages[index];
    if (stage === undefined) return;
    const [name, part] = stage;
    cancel = clock.after(begun + totalMs * part - clock.now(), () => {
      next(index + 1);
      reach(name);
    });
  };
  next(0);
  return () => cancel();
}
