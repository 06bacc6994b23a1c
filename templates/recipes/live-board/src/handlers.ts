import { defineApp } from 'webhook-receiver-kit';
import { liveBoard } from './live-board.ts';

// The recipe is yours: change src/live-board.ts as you need. While npm run dev runs, the board is at
// http://127.0.0.1:3001/app/board. For handlers of other kinds beside it:
// handlers: combineHandlers(board.handlers, defineHandlers({ ... })) from 'webhook-receiver-kit'.
const board = liveBoard();

export const app = defineApp({ handlers: board.handlers, routes: board.routes });
