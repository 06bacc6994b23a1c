import type { Clock } from '../base/clock.ts';
import { MockError } from './mock-error.ts';
import type { MockProvider } from './mock-provider.ts';
import { Random } from './random.ts';

export interface SmallLifeOptions {
  readonly mock: Pick<
    MockProvider,
    | 'createMedia'
    | 'updateMedia'
    | 'reuploadMedia'
    | 'deleteMedia'
    | 'createTrack'
    | 'deleteTrack'
    | 'createChannel'
    | 'activateChannel'
    | 'idleChannel'
  >;
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
export function smallLife(options: SmallLifeOptions): () => void {
  const { clock, seed } = options;
  const random = new Random(seed);
  const site = new Site(options, random);
  let cancel = () => {};
  const goOn = () => {
    site.act();
    const pauseMs = SHORTEST_PAUSE_MS + random.int(LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS);
    cancel = clock.after(pauseMs, goOn);
  };
  goOn();
  return () => cancel();
}

/** Something that can happen, and how often beside the others. */
interface Act {
  readonly weight: number;
  do(): void;
}

class Site {
  readonly #mock: SmallLifeOptions['mock'];
  readonly #id: string;
  readonly #random: Random;
  /** the ids of its media, the oldest first, each with its track if it has one */
  readonly #media = new Map<string, string | undefined>();
  #channel: { readonly id: string; isActive: boolean } | undefined;

  constructor({ mock, site }: SmallLifeOptions, random: Random) {
    this.#mock = mock;
    this.#id = site;
    this.#random = random;
  }

  /** Has one thing happen. */
  act(): void {
    const acts = this.#acts();
    let left = this.#random.int(acts.reduce((sum, { weight }) => sum + weight, 0));
    const act = acts.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    act?.do();
  }

  #acts(): readonly Act[] {
    const upload = { weight: 4, do: () => this.#upload() };
    const stream = { weight: 3, do: () => this.#stream() };
    const ids = [...this.#media.keys()];
    const id = ids[this.#random.int(Math.max(1, ids.length))];
    if (id === undefined) return [upload];
    const change = (weight: number, what: () => void) => ({ weight, do: () => this.#change(id, what) });
    return [
      upload,
      stream,
      change(4, () => this.#mock.updateMedia(id)),
      change(1, () => this.#mock.reuploadMedia(id)),
      change(2, () => this.#changeTrack(id)),
      change(ids.length < 3 ? 0 : 1, () => this.#delete(id)),
    ];
  }

  #upload(): void {
    const { media_id: id } = this.#mock.createMedia({ site_id: this.#id });
    this.#media.set(id, undefined);
    const [oldest] = this.#media.keys();
    if (this.#media.size > MOST_MEDIA && oldest !== undefined)
      this.#change(oldest, () => this.#delete(oldest));
  }

  /** Changes a media; a developer may have deleted it at the mock. */
  #change(id: string, what: () => void): void {
    try {
      what();
    } catch (error) {
      if (!(error instanceof MockError)) throw error;
      this.#media.delete(id);
    }
  }

  #changeTrack(id: string): void {
    const track = this.#media.get(id);
    if (track === undefined) this.#media.set(id, this.#mock.createTrack(id).track_id);
    else {
      this.#media.set(id, undefined);
      this.#mock.deleteTrack(id, track);
    }
  }

  #delete(id: string): void {
    this.#media.delete(id);
    this.#mock.deleteMedia(id);
  }

  /** The channel goes live, or stops. */
  #stream(): void {
    const channel = this.#channel ?? {
      id: this.#mock.createChannel({ site_id: this.#id }).channel_id,
      isActive: false,
    };
    this.#channel = { ...channel, isActive: !channel.isActive };
    try {
      if (channel.isActive) this.#mock.idleChannel(channel.id);
      else this.#mock.activateChannel(channel.id);
    } catch (error) {
      if (!(error instanceof MockError)) throw error;
      this.#channel = undefined; // the mock was reset
    }
  }
}
