import { forward } from './forward.ts';

// The recipe is yours: change src/forward.ts as you need.
const { FORWARD_URL, FORWARD_SECRET } = process.env;
if (!FORWARD_URL || !FORWARD_SECRET) throw new Error('set FORWARD_URL and FORWARD_SECRET in .env');

export const handlers = forward({ url: FORWARD_URL, secret: FORWARD_SECRET });
