import { combineHandlers } from '../index.ts';
import { channels } from './channels.ts';
import { media } from './media.ts';
import { thumbnails } from './thumbnails.ts';
import { tracks } from './tracks.ts';

/** All handlers of this service. A kind without one ends as skipped; `unknown` would take kinds that are not in the list. */
export const handlers = combineHandlers(media, thumbnails, tracks, channels);
