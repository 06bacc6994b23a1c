import { Attachments } from './attachments.ts';
import { Channels } from './live-channels.ts';
import { MediaLibrary, type MediaLibraryParts } from './media-library.ts';

/** What lives on the simulated sites. A site is no more than its id: it is there as soon as something names it. */
export class Simulation {
  readonly media: MediaLibrary;
  readonly attachments: Attachments;
  readonly channels: Channels;

  constructor(parts: MediaLibraryParts) {
    this.media = new MediaLibrary(parts);
    this.attachments = new Attachments(this.media, parts.random, parts.emit);
    this.channels = new Channels(parts.random, parts.emit);
  }

  clear(): void {
    this.media.clear();
    this.channels.clear();
  }
}
