import type { Clock } from '../../base/clock.ts';
import { MockError } from '../mock-error.ts';
import type { Pending } from '../pending.ts';
import type { Random } from '../random.ts';
import type { Emit } from './emit.ts';
import { type MediaItem, type MediaView, viewOf } from './media-item.ts';
import { processUpload, type Stage } from './processing.ts';
import type { MediaChange, MediaInput } from './simulation-inputs.ts';

/** What a library works with. */
export interface MediaLibraryParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: Emit;
  readonly pending: Pending;
  /** How long it takes to process an upload. */
  readonly processingMs: number;
}

/** The media of all sites, and what happens to them. The machines are drawn in docs/mock.md. */
export class MediaLibrary {
  readonly #parts: MediaLibraryParts;
  readonly #media = new Map<string, MediaItem>();

  constructor(parts: MediaLibraryParts) {
    this.#parts = parts;
  }

  /** A first upload. @throws MockError 400 if the id is taken */
  create({ site_id, media_id = this.#parts.random.id(8), publish_at = null }: MediaInput): MediaView {
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
    this.#parts.emit('media_created', site_id, { media_id });
    this.#process(media);
    return viewOf(media);
  }

  /** @throws MockError 404 */
  update(id: string, { publish_at }: MediaChange = {}): MediaView {
    const media = this.find(id);
    if (publish_at !== undefined) media.publishAt = publish_at === null ? null : Date.parse(publish_at);
    this.#parts.emit('media_updated', media.site_id, { media_id: id });
    this.#offer(media);
    return viewOf(media);
  }

  /** A new original: what was left to do for the one before is not done any more. @throws MockError 404 */
  reupload(id: string): MediaView {
    const media = this.find(id);
    media.stage = 'received';
    media.uploads++;
    media.available = false;
    this.#parts.emit('media_reuploaded', media.site_id, { media_id: id });
    this.#process(media);
    return viewOf(media);
  }

  /** Moves the publish start to now. @throws MockError 404 */
  publish(id: string): MediaView {
    const media = this.find(id);
    if (media.publishAt !== null) media.publishAt = Math.min(media.publishAt, this.#parts.clock.now());
    this.#offer(media);
    return viewOf(media);
  }

  /** @throws MockError 404 */
  delete(id: string): void {
    const media = this.find(id);
    this.#stop(media);
    this.#media.delete(id);
    this.#parts.emit('media_deleted', media.site_id, { media_id: id });
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
    const { clock, pending, processingMs } = this.#parts;
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
    const { emit, random } = this.#parts;
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
    const { clock, emit } = this.#parts;
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
