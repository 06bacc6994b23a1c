import { z } from 'zod';
import { wholeSeconds } from '../base/duration.ts';
import type { Kind } from '../notification/kinds.ts';
import type { MockClock } from './clock.ts';
import type { Deliveries } from './deliveries.ts';
import type { Random } from './random.ts';
import { MockError } from './requests.ts';
import { microseconds } from './webhooks.ts';

const id = z.string().min(1).max(200);
const moment = z.iso.datetime({ offset: true, error: 'must be an ISO 8601 date and time with an offset' });
const publishStart = z.nullish(moment);

/** The input of the verbs. The simulation draws the ids that are not given. */
export const inputs = {
  media: z.strictObject({ site_id: id, media_id: id.optional(), publish_at: publishStart }),
  mediaChange: z.strictObject({ publish_at: publishStart }).prefault({}),
  thumbnail: z.strictObject({ thumbnail_id: id.optional() }).prefault({}),
  track: z.strictObject({ track_id: id.optional() }).prefault({}),
  channel: z.strictObject({ site_id: id, channel_id: id.optional() }),
};

export type MediaInput = z.output<typeof inputs.media>;
export type MediaChange = z.output<typeof inputs.mediaChange>;
type ThumbnailInput = z.output<typeof inputs.thumbnail>;
type TrackInput = z.output<typeof inputs.track>;
export type ChannelInput = z.output<typeof inputs.channel>;

/** How far an upload has been processed. */
type Stage = 'received' | 'thumbnail' | 'indexed' | 'complete';

/** The stages of processing, and when each is reached as a part of the whole time. */
const stages: readonly (readonly [Stage, number])[] = [
  ['thumbnail', 0.25],
  ['indexed', 0.5],
  ['complete', 1],
];

/** A media as the control routes show it. */
export type MediaView = ReturnType<typeof viewOf>;

/** A live channel as the control routes show it. */
export interface ChannelView {
  readonly channel_id: string;
  readonly site_id: string;
  readonly state: 'active' | 'idle';
}

/** A media as the simulation keeps it. */
interface Media {
  readonly media_id: string;
  readonly site_id: string;
  /** How far the latest upload has been processed. */
  stage: Stage;
  /** How often an original was uploaded: 1, and one more for each reupload. */
  uploads: number;
  /** The publish start in milliseconds since the epoch; null for at once. */
  publishAt: number | null;
  /** Whether media_available has been sent for the latest upload. */
  available: boolean;
  /** Whether processing has made a thumbnail; a reupload does not make another. */
  hasPoster: boolean;
  readonly createdAt: number;
  /** when it was updated or reuploaded last */
  modifiedAt: number;
  readonly thumbnails: Set<string>;
  readonly tracks: Set<string>;
  stopProcessing: () => void;
}

/** The dependencies and settings of a simulation. */
interface SimulationNeeds {
  readonly clock: MockClock;
  readonly random: Random;
  readonly deliveries: Pick<Deliveries, 'sendNotification'>;
  /** How long it takes to process an upload. */
  readonly processingMs: number;
}

export type Simulation = ReturnType<typeof createSimulation>;

/** Simulated sites: the life of their media, thumbnails, tracks and live channels. docs/mock.md draws the states. */
export function createSimulation({ clock, random, deliveries, processingMs }: SimulationNeeds) {
  const allMedia = new Map<string, Media>();
  const channels = new Map<string, ChannelView>();
  const newId = () => random.id(8);

  const send = (event: Kind, site_id: string, ids: Readonly<Record<string, string>>) => {
    deliveries.sendNotification({ event, ...ids, site_id, event_time: wholeSeconds(clock.now()) });
  };
  const emit = (event: Kind, { media_id, site_id }: Media, ids: Readonly<Record<string, string>> = {}) => {
    send(event, site_id, { ...ids, media_id });
  };

  const find = (id: string): Media => {
    const media = allMedia.get(id);
    if (!media) throw new MockError(404, `there is no media ${id}`);
    return media;
  };

  const process = (media: Media) => {
    const steps = stages.map(([stage, part]) => clock.step(processingMs * part, () => reach(media, stage)));
    media.stopProcessing = () => {
      for (const cancel of steps) cancel();
    };
  };
  const reach = (media: Media, stage: Stage) => {
    media.stage = stage;
    if (stage === 'thumbnail' && !media.hasPoster) {
      media.hasPoster = true;
      createThumbnail(media.media_id);
    }
    if (stage === 'indexed') offer(media);
    if (stage === 'complete' && media.uploads === 1) emit('conversions_complete', media);
  };
  /** Sends media_available, once an upload, as soon as the media is indexed and its publish start is reached. */
  const offer = (media: Media) => {
    const isIndexed = media.stage === 'indexed' || media.stage === 'complete';
    if (!isIndexed || media.available || allMedia.get(media.media_id) !== media) return;
    const ahead = (media.publishAt ?? 0) - clock.now();
    if (ahead > 0) {
      clock.after(ahead, () => offer(media)); // it may have been moved or deleted by then
    } else {
      media.available = true;
      emit('media_available', media);
    }
  };

  /** @throws MockError 404 if there is no such media, 400 if the id is taken */
  const add = (mediaId: string, what: 'thumbnail' | 'track', id: string) => {
    const media = find(mediaId);
    const ids = media[`${what}s`];
    if (ids.has(id)) throw new MockError(400, `the media has a ${what} ${id} already`);
    ids.add(id);
    emit(`${what}_created`, media, { [`${what}_id`]: id });
  };
  /** @throws MockError 404 if there is no such media, or it has none of this id */
  const remove = (mediaId: string, what: 'thumbnail' | 'track', id: string) => {
    const media = find(mediaId);
    if (!media[`${what}s`].delete(id)) throw new MockError(404, `there is no ${what} ${id} of this media`);
    emit(`${what}_deleted`, media, { [`${what}_id`]: id });
  };
  const createThumbnail = (media_id: string, { thumbnail_id = newId() }: ThumbnailInput = {}) => {
    add(media_id, 'thumbnail', thumbnail_id);
    return { thumbnail_id, media_id };
  };

  /** Only a change of state sends an event. */
  const enter = (id: string, state: ChannelView['state']): ChannelView => {
    const channel = channels.get(id);
    if (!channel) throw new MockError(404, `there is no channel ${id}`);
    if (channel.state === state) return channel;
    const changed = { ...channel, state };
    channels.set(id, changed);
    send(`channel_${state}`, channel.site_id, { channel_id: id });
    return changed;
  };

  return {
    /** A first upload, which is then processed. @throws MockError 400 if the id is taken */
    createMedia({ site_id, media_id = newId(), publish_at = null }: MediaInput) {
      if (allMedia.has(media_id)) throw new MockError(400, `there is a media ${media_id} already`);
      const media: Media = {
        media_id,
        site_id,
        stage: 'received',
        uploads: 1,
        publishAt: timeOf(publish_at),
        available: false,
        hasPoster: false,
        createdAt: clock.now(),
        modifiedAt: clock.now(),
        thumbnails: new Set(),
        tracks: new Set(),
        stopProcessing() {},
      };
      allMedia.set(media_id, media);
      emit('media_created', media);
      process(media);
      return viewOf(media);
    },

    /** @throws MockError 404 */
    updateMedia(id: string, { publish_at }: MediaChange = {}) {
      const media = find(id);
      if (publish_at !== undefined) media.publishAt = timeOf(publish_at);
      media.modifiedAt = clock.now();
      emit('media_updated', media);
      offer(media);
      return viewOf(media);
    },

    /** A new original for a media. It is processed in place of the upload before. @throws MockError 404 */
    reuploadMedia(id: string) {
      const media = find(id);
      media.stage = 'received';
      media.uploads++;
      media.available = false;
      media.modifiedAt = clock.now();
      emit('media_reuploaded', media);
      media.stopProcessing();
      process(media);
      return viewOf(media);
    },

    /** Moves the publish start to now. @throws MockError 404 */
    publishMedia(id: string) {
      const media = find(id);
      if (media.publishAt !== null) media.publishAt = Math.min(media.publishAt, clock.now());
      offer(media);
      return viewOf(media);
    },

    /** @throws MockError 404 */
    deleteMedia(id: string): void {
      const media = find(id);
      media.stopProcessing();
      allMedia.delete(id);
      emit('media_deleted', media);
    },

    /** The media of a site as the public list of media has them, in order of creation. */
    listMedia: (site: string) =>
      [...allMedia.values()].filter(({ site_id }) => site_id === site).map(resourceOf),

    /** @throws MockError 404 if there is no such media, 400 if the id is taken */
    createThumbnail,
    /** @throws MockError 404 */
    deleteThumbnail: (mediaId: string, id: string) => remove(mediaId, 'thumbnail', id),
    /** @throws MockError 404 if there is no such media, 400 if the id is taken */
    createTrack(media_id: string, { track_id = newId() }: TrackInput = {}) {
      add(media_id, 'track', track_id);
      return { track_id, media_id };
    },
    /** @throws MockError 404 */
    deleteTrack: (mediaId: string, id: string) => remove(mediaId, 'track', id),

    /** A live channel, idle at first. @throws MockError 400 if the id is taken */
    createChannel({ site_id, channel_id = newId() }: ChannelInput): ChannelView {
      if (channels.has(channel_id)) throw new MockError(400, `there is a channel ${channel_id} already`);
      const channel: ChannelView = { channel_id, site_id, state: 'idle' };
      channels.set(channel_id, channel);
      send('channel_created', site_id, { channel_id });
      return channel;
    },

    /** @throws MockError 404 */
    activateChannel: (id: string) => enter(id, 'active'),
    /** @throws MockError 404 */
    idleChannel: (id: string) => enter(id, 'idle'),

    /** Forgets all media and channels; their timers are the clock's. */
    reset(): void {
      allMedia.clear();
      channels.clear();
    },
  };
}

function timeOf(publishStart: string | null): number | null {
  return publishStart === null ? null : Date.parse(publishStart);
}

/** `ready` once it is indexed, which is our assumption. */
function resourceOf({ media_id: id, stage, createdAt, modifiedAt, publishAt }: Media) {
  const status = stage === 'indexed' || stage === 'complete' ? 'ready' : 'processing';
  const publish_start_date = publishAt === null ? null : wholeSeconds(publishAt);
  const [created, last_modified] = [microseconds(createdAt), microseconds(modifiedAt)];
  const metadata = { title: id, publish_start_date };
  return { id, type: 'media', created, last_modified, status, metadata, schema: null, relationships: {} };
}

function viewOf({ media_id, site_id, stage, uploads, publishAt, available, ...media }: Media) {
  const publish_at = publishAt === null ? null : new Date(publishAt).toISOString();
  const thumbnail_ids = [...media.thumbnails];
  const track_ids = [...media.tracks];
  return { media_id, site_id, stage, uploads, publish_at, available, thumbnail_ids, track_ids };
}
