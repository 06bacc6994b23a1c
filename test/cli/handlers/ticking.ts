import { defineHandlers } from '../../../src/index.ts';

// A timer that nobody clears, as pools of connections and pollers have them.
setInterval(() => {}, 1000);

export const handlers = defineHandlers({ media_created() {} });
