import { expect, test } from '@jest/globals';
import { rssOf } from '../support/memory.ts';
import { present } from '../support/only.ts';
import { hoard, hoards } from './hoarders.ts';
import { genuineLoad, line } from './load.ts';
import { eachWithService } from './service.ts';

const stage = eachWithService();
/**
 * How much more than at rest the service may hold, whatever others send: 100 MB. What is counted is bounded at 12 MiB; the rest is
 * what V8 has not collected yet and what malloc does not give back. Clients that are closed come again each second here.
 */
const MOST_MORE_MIB = 95;
const SECONDS = 8;

/** The default of BODY_LIMIT: at 16 MiB a request may have 38 MB, and docs/security.md says what hoards of these take. */
const LIMIT = 65_536;
const CONNECTIONS = 2000;
const CASES = Object.keys(hoards(1024, 1)).map((what) => ({ what }));

test.each(CASES)(
  `$what, over ${CONNECTIONS} connections, cost at most ${MOST_MORE_MIB} MiB, and genuine notifications are all taken`,
  async ({ what }) => {
    const service = await stage().start({ BODY_LIMIT: String(LIMIT) });
    await genuineLoad({ url: service.url, requests: 3000 });
    const quiet = rssOf(service.child.pid);
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, rssOf(service.child.pid));
    }, 100);
    const end = hoard(Number(new URL(service.url).port), present(hoards(LIMIT, CONNECTIONS)[what]));
    await new Promise((resolve) => setTimeout(resolve, 1000 * SECONDS));
    const seen = await genuineLoad({ url: service.url, requests: 200 });
    clearInterval(watch);
    end();
    process.stdout.write(`${what}: RSS ${quiet} MiB, then at most ${most} MiB; ${line('genuine', seen)}\n`);
    expect(seen.statuses).toEqual({ 200: 200 });
    expect(most - quiet).toBeLessThan(MOST_MORE_MIB);
  },
);
