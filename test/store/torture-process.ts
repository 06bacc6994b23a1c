// One of several processes on a database, as a child of torture.test.ts: URL SECONDS SEED FOLDER. It records, claims, holds for a while,
// settles, renews, replays and forgets, over few resources, and writes what it saw, a line each, to FOLDER/log.SEED.
import { appendFileSync, closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import { isUnavailable } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/seeded-random.ts';
import type { Claim, Settlement } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import type { EventId } from '../../src/store/stored.ts';
import { LEASE_MS, type Line, RESOURCES } from './torture.ts';

const [url = '', seconds = '', seed = '', folder = ''] = process.argv.slice(2);
const random = seededRandom(Number(seed));
const secretsKey = url.startsWith('postgres') ? Buffer.alloc(32, 7) : undefined; // as SECRETS_KEY of the tests
const store = await openStore({
  DATABASE_URL: url,
  clock: systemClock,
  SECRETS_KEY: secretsKey,
  DATABASE_POOL: 5,
});
const say = (line: Line) => appendFileSync(join(folder, `log.${seed}`), `${JSON.stringify(line)}\n`);
const end = Date.now() + Number(seconds) * 1000;
const owner = `process-${seed}`;

/** As the dispatcher does: what the store cannot do now is tried again. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      await sleep(20);
    }
}

/** Half of the events are told to all processes at the same time. */
function made(n: number): { id: EventId; resource: string; eventTime: number } {
  const name =
    random() < 0.5 ? `slot ${Math.floor(Date.now() / 40)} ${Math.floor(random() * 6)}` : `own ${seed} ${n}`;
  let hash = 0;
  for (const char of name) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
  const eventTime = 1_000_000 + ((hash >> 8) % 50);
  const resource = RESOURCES[hash % RESOURCES.length] ?? '';
  return {
    id: `${eventTime.toString(36)}-${Buffer.from(name).toString('hex').padEnd(20, '0')}` as EventId,
    resource,
    eventTime,
  };
}

async function produce(): Promise<void> {
  for (let n = 0; Date.now() < end; ) {
    const list = Array.from({ length: 1 + Math.floor(random() * 8) }, () => made(n++));
    const answers = await Promise.all(
      list.map((one) =>
        again(() => store.record({ ...one, kind: 'k', webhookId: 'w', siteId: 's', body: '{}' })),
      ),
    );
    const at = Date.now();
    for (const { id, status } of answers) if (status === 'accepted') say({ acked: id, at });
    if (random() < 0.1) {
      const ids = list.slice(0, 3).map(({ id }) => id);
      for (const id of ids) say({ replayed: id });
      await again(() => store.replay({ ids }));
    }
    await sleep(random() * 40);
  }
}

async function handle(claim: Claim, askedAt: number): Promise<void> {
  const mark = join(folder, claim.resource.replace(':', '.'));
  if (Date.now() - askedAt > LEASE_MS / 2) return; // this process stood still: the lease may run out
  try {
    const file = openSync(mark, 'wx');
    writeSync(file, String(askedAt + LEASE_MS));
    closeSync(file);
  } catch {
    const until = Number(readFileSync(mark, { encoding: 'utf8', flag: 'a+' }) || Number.POSITIVE_INFINITY);
    if (until > Date.now()) say({ overlap: claim.id });
  }
  await sleep(random() * 8);
  rmSync(mark, { force: true });
  const fate = random();
  if (fate < 0.01) return say({ forgot: claim.id });
  if (fate < 0.3) await again(() => store.renew([claim], LEASE_MS));
  const settlement: Settlement =
    fate < 0.1
      ? {
          status: 'pending',
          outcome: 'retry',
          afterMs: Math.floor(random() * 200),
          counts: false,
          startedAt: askedAt,
          ms: 1,
        }
      : { status: 'handled', outcome: 'handled', counts: true, startedAt: askedAt, ms: 1 };
  await again(() => store.settle(claim, settlement));
}

/** all that it ever claimed: what it forgets, others recover */
const held = new Set<string>();

async function consume(): Promise<void> {
  for (;;) {
    if (random() < 0.2) {
      await again(() => store.wake());
      await again(() => store.recover({ held: [...held], maxAttempts: 1000 }));
    }
    if (random() < 0.02) await again(() => store.sweep());
    const names = random() < 0.5 ? RESOURCES.filter(() => random() < 0.2) : [];
    const askedAt = Date.now();
    const request = { names, oldest: 2, newest: 1, leaseMs: LEASE_MS };
    const claims = await store.claim({ ...request, owner }).catch(() => []); // what it leased, if it did, somebody recovers
    const claimedAt = Date.now();
    for (const { id, resource, seq, starts, replays } of claims)
      say({ claimed: id, resource, seq, first: starts === 1 && replays === 0, askedAt, claimedAt });
    await Promise.all(claims.map((claim) => handle(claim, askedAt)));
    if (claims.length > 0) continue;
    await sleep(5);
    if (Date.now() < end) continue;
    const { pending, running } = await store.overview();
    if (pending + running === 0) return;
    held.clear(); // the others may have ended: it recovers what it forgot itself
    await sleep(50);
  }
}

await Promise.all([produce(), consume(), consume(), consume()]);
await store.close();
