import { MockError } from '../mock-error.ts';
import type { Random } from '../random.ts';
import type { Emit } from './emit.ts';
import type { ChannelInput } from './simulation-inputs.ts';

/** The states of a live channel. */
export type ChannelState = 'active' | 'idle';

/** A live channel as the control routes show it. */
export interface ChannelView {
  readonly channel_id: string;
  readonly site_id: string;
  readonly state: ChannelState;
}

/** The live channels of all sites. Only a change of state sends an event; a channel is idle when it is created. */
export class LiveChannels {
  readonly #random: Random;
  readonly #emit: Emit;
  readonly #channels = new Map<string, ChannelView>();

  constructor({ random, emit }: { readonly random: Random; readonly emit: Emit }) {
    this.#random = random;
    this.#emit = emit;
  }

  /** @throws MockError 400 if the id is taken */
  create({ site_id, channel_id = this.#random.id(8) }: ChannelInput): ChannelView {
    if (this.#channels.has(channel_id)) {
      throw new MockError(400, `there is a channel ${channel_id} already`);
    }
    const channel: ChannelView = { channel_id, site_id, state: 'idle' };
    this.#channels.set(channel_id, channel);
    this.#emit('channel_created', site_id, { channel_id });
    return channel;
  }

  /** @throws MockError 404 */
  enter(id: string, state: ChannelState): ChannelView {
    const channel = this.#channels.get(id);
    if (!channel) throw new MockError(404, `there is no channel ${id}`);
    if (channel.state === state) return channel;
    const changed = { ...channel, state };
    this.#channels.set(id, changed);
    this.#emit(`channel_${state}`, channel.site_id, { channel_id: id });
    return changed;
  }

  clear(): void {
    this.#channels.clear();
  }
}
