import { announce } from './announce.ts';

// The recipe is yours: change src/announce.ts as you need. It takes STATUSES_BASE_URL and STATUSES_TOKEN from .env. For handlers of other
// kinds beside it: combineHandlers(announce(), defineHandlers({ ... })) from 'webhook-receiver-kit'.
export const handlers = announce();
