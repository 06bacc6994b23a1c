import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { isUnavailable } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/seeded-random.ts';
import type { Claim, EventStore, Settlement } from '../../src/store/event-store.ts';
import type { EventId } from '../../src/store/stored.ts';
import { size } from '../support/sizes.ts';
import { onPostgres, onSqlite } from './stages.ts';

/** How often each store is told of some events. */
const ROUNDS = size({ small: 20, full: 2000 });
const LEASE_MS = 1500;
/** In another order in English than by their characters. */
const RESOURCES = 'aBcd Bxyz aZ b0 C1 cc Dd dA E eF f Ga'.split(' ').map((name) => `media:${name}`);
/** How many claims of a resource are compared with the ones after them. */
const NEXT = 200;

interface Taken {
  readonly claim: Claim;
  readonly askedAt: number;
  readonly claimedAt: number;
}

/** What stores saw that work on one database at the same time, each with connections of its own. */
class Torture {
  readonly acked: EventId[] = [];
  readonly ackedAt = new Map<EventId, number>();
  readonly taken: Taken[] = [];
  /** what a replay or a forgotten lease may run again, and in another order */
  readonly touched = new Set<EventId>();
  readonly overlaps: EventId[] = [];
  readonly #leasedUntil = new Map<string, number>();
  #producing = 0;

  /** Records, claims, holds for a while, settles, renews, replays and forgets, over few resources. */
  async work(store: EventStore, seed: number): Promise<void> {
    const random = seededRandom(seed);
    const consumers = [1, 2, 3].map(() => this.#consume(store, random, `process-${seed}`));
    await Promise.all([this.#produce(store, random, seed), ...consumers]);
  }

  async #produce(store: EventStore, random: () => number, seed: number): Promise<void> {
    this.#producing++;
    for (let round = 0; round < ROUNDS; round++) {
      const list = Array.from({ length: 1 + Math.floor(random() * 8) }, (_, n) =>
        made(random, `${seed} ${round} ${n}`),
      );
      await Promise.all(
        list.map(async (one) => {
          const rest = { kind: 'k', webhookId: 'w', siteId: 's', body: '{}' };
          const { status, id } = await again(() => store.record({ ...one, ...rest }));
          if (status !== 'accepted') return;
          this.acked.push(one.id);
          this.ackedAt.set(one.id, Date.now());
          expect(id).toBe(one.id);
        }),
      );
      if (random() < 0.1) {
        const ids = list.slice(0, 3).map(({ id }) => id);
        for (const id of ids) this.touched.add(id);
        await again(() => store.replay({ ids }));
      }
      await sleep(random() * 40);
    }
    this.#producing--;
  }

  async #consume(store: EventStore, random: () => number, owner: string): Promise<void> {
    for (;;) {
      if (random() < 0.2) {
        await again(() => store.wake());
        await again(() => store.recover({ held: [], maxAttempts: 1000 }));
      }
      if (random() < 0.02) await again(() => store.sweep());
      const names = random() < 0.5 ? RESOURCES.filter(() => random() < 0.2) : [];
      const askedAt = Date.now();
      const request = { names, oldest: 2, newest: 1, leaseMs: LEASE_MS, owner };
      const { claims } = await store.claim(request).catch(() => ({ claims: [] })); // what it leased, if it did, somebody recovers
      this.taken.push(...claims.map((claim) => ({ claim, askedAt, claimedAt: Date.now() })));
      await Promise.all(claims.map((claim) => this.#handle(store, random, claim, askedAt)));
      if (claims.length > 0) continue;
      await sleep(5);
      if (this.#producing > 0) continue;
      const { pending, running } = await store.overview();
      if (pending + running === 0) return;
      await sleep(50);
    }
  }

  async #handle(store: EventStore, random: () => number, claim: Claim, startedAt: number): Promise<void> {
    if (Date.now() - startedAt > LEASE_MS / 2) return void this.touched.add(claim.id); // the lease may run out
    if ((this.#leasedUntil.get(claim.resource) ?? 0) > Date.now()) this.overlaps.push(claim.id);
    this.#leasedUntil.set(claim.resource, startedAt + LEASE_MS);
    await sleep(random() * 8);
    this.#leasedUntil.delete(claim.resource);
    const fate = random();
    if (fate < 0.01) return void this.touched.add(claim.id);
    if (fate < 0.3) await again(() => store.renew([claim], LEASE_MS));
    const run = { startedAt, ms: 1 };
    const retry = { status: 'pending', outcome: 'retry', afterMs: Math.floor(random() * 200), counts: false };
    const handled = { status: 'handled', outcome: 'handled', counts: true };
    await again(() => store.settle(claim, { ...run, ...(fate < 0.1 ? retry : handled) } as Settlement));
  }

  /** First runs of a resource that came in another order than that of event times, although the older event was there before. */
  outOfOrder(): unknown[] {
    const first = this.taken.filter(({ claim }) => claim.starts === 1 && claim.replays === 0);
    const plain = first.filter(({ claim }) => !this.touched.has(claim.id));
    return [...Map.groupBy(plain, ({ claim }) => claim.resource).values()].flatMap((list) => {
      const inTurn = list.toSorted((one, other) => one.askedAt - other.askedAt);
      return inTurn.flatMap((one, index) =>
        inTurn.slice(index + 1, index + NEXT).filter((other) => {
          const wasThere = (this.ackedAt.get(other.claim.id) ?? Number.POSITIVE_INFINITY) < one.askedAt;
          return wasThere && one.claimedAt < other.askedAt && isOlder(other.claim, one.claim);
        }),
      );
    });
  }
}

/** As the dispatcher does: what the store cannot do now is tried again. */
async function again<T>(operate: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await operate();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      await sleep(20);
    }
}

/** Half of the events are told to all stores at the same time. */
function made(random: () => number, own: string): { id: EventId; resource: string; eventTime: number } {
  const isShared = random() < 0.5;
  const name = isShared ? `slot ${Math.floor(Date.now() / 40)} ${Math.floor(random() * 6)}` : `own ${own}`;
  let hash = 0;
  for (const char of name) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
  const eventTime = 1_000_000 + ((hash >> 8) % 50);
  const hex = Buffer.from(name).toString('hex').padEnd(20, '0');
  const resource = RESOURCES[hash % RESOURCES.length] ?? '';
  return { id: `${eventTime.toString(36)}-${hex}` as EventId, resource, eventTime };
}

const timeOf = ({ id }: Claim) => Number.parseInt(id, 36);

function isOlder(one: Claim, other: Claim): boolean {
  return timeOf(one) < timeOf(other) || (timeOf(one) === timeOf(other) && one.seq < other.seq);
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly crashes: number;
  readonly replays: number;
  readonly handled: number;
}

for (const [onEngine, stores] of [
  [onSqlite, 3],
  [onPostgres, 4],
] as const)
  onEngine('several stores', (stage) => {
    test('never run two of one resource at once, lose none, and handle none twice but for replays', async () => {
      const torture = new Torture();
      const settings = { clock: systemClock, threads: true };
      const all = await Promise.all(Array.from({ length: stores }, () => stage.another(settings)));
      await Promise.all(all.map((store, index) => torture.work(store, index + 1)));
      const rows = await stage.sql<Row>(
        `SELECT id, status, crashes, replays,
           (SELECT count(*) FROM attempts a WHERE a.event = events.seq AND a.outcome = 'handled') AS handled FROM events`,
      );
      const { acked, overlaps } = torture;
      expect([overlaps, torture.outOfOrder()]).toEqual([[], []]);
      expect(acked.length).toBeGreaterThan(ROUNDS);
      expect(new Set(acked).size).toBe(acked.length); // none is new to two
      const ids = new Set(rows.map(({ id }) => id));
      expect(acked.filter((id) => !ids.has(id))).toEqual([]);
      expect(rows.filter(({ status, crashes }) => status !== 'handled' && crashes < 5)).toEqual([]);
      expect(rows.filter(({ handled, replays }) => Number(handled) > 1 + replays)).toEqual([]);
      expect(await stage.sql('SELECT * FROM lanes')).toEqual([]);
    });
  });
