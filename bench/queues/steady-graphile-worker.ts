import { openGraphile, TASK } from './graphile-queue.ts';
import { runSteadily, steadyOptions } from './steady.ts';

const options = steadyOptions();
const { utils, start } = await openGraphile({ ...options, hasLocalQueue: true, isDurable: true });

await runSteadily(options, {
  add: (numbers) => utils.addJobs(numbers.map((n) => ({ identifier: TASK, payload: { n } }))),
  start: (ran) => start((payload) => ran((payload as { n: number }).n)),
});
