import { defineHandlers } from '../../../src/index.ts';
import { announce } from '../../../src/recipes/announce.ts';
import { forward } from '../../../src/recipes/forward.ts';
import { liveBoard } from '../../../src/recipes/live-board.ts';

const secret = `whsec_${Buffer.alloc(24).toString('base64')}`;
const url = process.env.FORWARD_URL ?? '';

/** All recipes at once: what the others do not take is forwarded. */
export const handlers = defineHandlers({
  ...forward({ url, secret }),
  ...announce(),
  ...liveBoard().handlers,
});
