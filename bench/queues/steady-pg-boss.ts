import { openBoss, QUEUE } from './boss-queue.ts';
import { AT_ONCE } from './queue.ts';
import { runSteadily, steadyOptions } from './steady.ts';

const options = steadyOptions();
const { boss, start } = await openBoss({ ...options, batchSize: AT_ONCE, isOneKey: false });

await runSteadily(options, {
  add: (numbers) =>
    boss.insert(
      QUEUE,
      numbers.map((n) => ({ data: { n } })),
    ),
  start: (ran) =>
    start((jobs) => {
      for (const { data } of jobs) ran(data.n);
    }),
});
