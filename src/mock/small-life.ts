import { type Clock, repeat } from '../base/clock.ts';
import { Random } from './random.ts';
import { MockError } from './requests.ts';
import type { ChannelView, Simulation } from './simulation.ts';

export interface SmallLifeOptions {
  readonly mock: Simulation;
  readonly site: string;
  readonly clock: Clock;
  /** the same seed has the same things happen, in the same order; without one, nobody can tell */
  readonly seed?: number | undefined;
}

/** The pause before the next thing happens is between these. */
const SHORTEST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 5000;
/** Beyond these, media go as soon as they come. */
const MOST_MEDIA = 8;

/**
 * Lets something happen on a site every few seconds, as on a small real one: uploads that are processed, updates, tracks, a
 * channel that goes live and stops, and now and then a deletion.
 * @returns ends it
 */
export function smallLife({ mock, site, clock, seed }: SmallLifeOptions): () => void {
  const random = new Random(seed);
  /** the ids of the media, the oldest first, each with its track if it has one */
  const media = new Map<string, string | undefined>();
  let channel: ChannelView | undefined;

  const remove = (id: string) => {
    media.delete(id);
    mock.deleteMedia(id);
  };
  const upload = () => {
    media.set(mock.createMedia({ site_id: site }).media_id, undefined);
    const [oldest = ''] = media.keys();
    if (media.size > MOST_MEDIA) remove(oldest);
  };
  const changeTrack = (id: string) => {
    const track = media.get(id);
    if (track !== undefined) mock.deleteTrack(id, track);
    media.set(id, track === undefined ? mock.createTrack(id).track_id : undefined);
  };
  const goLiveOrStop = () => {
    const { channel_id, state } = channel ?? mock.createChannel({ site_id: site });
    channel = state === 'active' ? mock.idleChannel(channel_id) : mock.activateChannel(channel_id);
  };

  return repeat(clock, 0, async () => {
    const id = [...media.keys()][random.int(Math.max(1, media.size))];
    const chance = id === undefined ? 0 : random.int(15);
    try {
      if (id === undefined || chance < 4) upload();
      else if (chance < 7) goLiveOrStop();
      else if (chance < 11) mock.updateMedia(id);
      else if (chance < 12) mock.reuploadMedia(id);
      else if (chance < 14 || media.size < 3) changeTrack(id);
      else remove(id);
    } catch (error) {
      if (!(error instanceof MockError)) throw error;
      media.delete(id ?? ''); // a developer has deleted it at the mock, or everything
      channel = undefined;
    }
    return SHORTEST_PAUSE_MS + random.int(LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS);
  });
}
