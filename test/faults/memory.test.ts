import { expect, test } from '@jest/globals';
import { rssOf } from '../support/memory.ts';
import { present } from '../support/only.ts';
import { hoard, hoards } from './hoarders.ts';
import { genuineLoad, line } from './load.ts';
import { eachWithService } from './service.ts';

const stage = eachWithService();
/**
 * How much more than at rest the service may hold, whatever others send. What is counted is bounded at 24 MiB; the rest is
 * what V8 has not collected yet and what malloc does not give back. Clients that are closed come again each second here.
 */
const MOST_MORE_MIB = 300;
const SECONDS = 8;

const LIMITS = [
  { limit: 65_536, connections: 2000 },
  { limit: 16_777_216, connections: 100 },
];
const CASES = LIMITS.flatMap(({ limit, connections }) =>
  Object.keys(hoards(1024, 1)).map((what) => ({ what, limit, connections })),
);

test.each(CASES)(
  `$what, over $connections connections, BODY_LIMIT being $limit, cost at most ${MOST_MORE_MIB} MiB, and genuine notifications are all taken`,
  async ({ what, limit, connections }) => {
    const service = await stage().start({ BODY_LIMIT: String(limit) });
    await genuineLoad({ url: service.url, requests: 3000 });
    const quiet = rssOf(service.child.pid);
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, rssOf(service.child.pid));
    }, 100);
    const end = hoard(Number(new URL(service.url).port), present(hoards(limit, connections)[what]));
    await new Promise((resolve) => setTimeout(resolve, 1000 * SECONDS));
    const seen = await genuineLoad({ url: service.url, requests: 200 });
    clearInterval(watch);
    end();
    process.stdout.write(
      `${what}, limit ${limit}: RSS ${quiet} MiB, then at most ${most} MiB; ${line('genuine', seen)}\n`,
    );
    expect(seen.statuses).toEqual({ 200: 200 });
    expect(most - quiet).toBeLessThan(MOST_MORE_MIB);
  },
);
