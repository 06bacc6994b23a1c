import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Claim, EventStore, ReminderChange, Settlement } from '../../src/store/event-store.ts';
import { present } from '../support/only.ts';
import { size } from '../support/sizes.ts';
import { HANDLED, LEASE_MS, notified } from './desk.ts';
import { onPostgres, onSqlite, type Stage } from './stages.ts';

const RESOURCES = ['media:a', 'media:b', 'media:C'];
const MOST_ATTEMPTS = 6;
const MOST_CRASHES = 5;
/** Their sums come no nearer than a second below a pause or a lease: the clock of PostgreSQL goes on meanwhile. */
const PASSING_MS = [7000, 19_000, LEASE_MS + 1];

interface Event {
  readonly id: string;
  readonly resource: string;
  readonly eventTime: number;
  readonly place: number;
  /** the name of the reminder that it was */
  readonly reminder?: string;
  status: 'pending' | 'handled' | 'skipped' | 'dead';
  /** undefined: ready */
  dueAt: number | undefined;
  starts: number;
  attempts: number;
  crashes: number;
  replays: number;
  deliveries: number;
  late: boolean | undefined;
  everHandled: boolean;
  isPruned: boolean;
  ran: string[];
}

const UNTRIED = {
  status: 'pending',
  dueAt: undefined,
  starts: 0,
  attempts: 0,
  crashes: 0,
  late: undefined,
} as const;

interface Running {
  readonly event: Event;
  readonly claim: Claim;
  readonly owner: string;
  readonly late: boolean;
  until: number;
}

/** What the store must do, in the simplest way that one can say it. */
class Model {
  now = 0;
  readonly events: Event[] = [];
  readonly running = new Map<string, Running>();
  /** when they are due, by their resource and name */
  readonly reminders = new Map<string, { readonly resource: string; readonly dueAt: number }>();

  byOrder(list: readonly Event[]): Event[] {
    return [...list].sort((one, other) => one.eventTime - other.eventTime || one.place - other.place);
  }

  isRunning(event: Event): boolean {
    return this.running.get(event.resource)?.event === event;
  }

  /** The event that a claim of a resource must give. */
  nextOf(resource: string): Event | undefined {
    if (this.running.has(resource)) return undefined;
    return this.byOrder(this.events.filter((one) => one.resource === resource && this.isReady(one)))[0];
  }

  isReady({ status, dueAt }: Event): boolean {
    return status === 'pending' && dueAt === undefined;
  }

  isLate(event: Event): boolean {
    if (event.late !== undefined) return event.late;
    return this.events.some(
      (one) =>
        one.resource === event.resource &&
        one.eventTime > event.eventTime &&
        one.everHandled &&
        (event.replays === 0 || one.status === 'handled'),
    );
  }

  remind(resource: string, { name, afterMs }: ReminderChange): void {
    const [running, key] = [this.running.get(resource)?.event, `${resource} ${name}`];
    if (afterMs === undefined) this.reminders.delete(key);
    else this.reminders.set(key, { resource, dueAt: this.now + afterMs });
    for (const one of this.events)
      if (one.resource === resource && one.reminder === name && one.status === 'pending' && one !== running)
        Object.assign(one, { status: 'skipped', dueAt: undefined });
  }

  end(
    { event, late }: Running,
    { status, outcome, counts, afterMs, ...more }: Settlement,
    isCrash = false,
  ): void {
    for (const one of more.reminders ?? []) this.remind(event.resource, one);
    this.running.delete(event.resource);
    event.starts++;
    event.attempts += Number(counts);
    event.crashes += Number(isCrash);
    event.late = late;
    event.status = status;
    event.everHandled ||= status === 'handled';
    event.ran.push(outcome);
    const isSuspect = event.crashes >= 2 && status === 'pending';
    event.dueAt =
      status !== 'pending' || (afterMs === undefined && !isSuspect) ? undefined : this.now + (afterMs ?? 0);
  }

  wake(): void {
    const due = this.events.filter(({ dueAt }) => dueAt !== undefined && dueAt <= this.now);
    const isSuspectAbout = this.events.some((one) => one.crashes >= 2 && this.isReady(one));
    const [suspect] = due
      .filter(({ crashes }) => crashes >= 2)
      .sort((one, other) => (one.dueAt ?? 0) - (other.dueAt ?? 0));
    for (const event of due)
      if (event.crashes < 2 || (event === suspect && !isSuspectAbout)) event.dueAt = undefined;
  }

  replay(matches: (event: Event) => boolean): number {
    const reset = this.events.filter((one) => matches(one) && !one.isPruned && !this.isReady(one));
    for (const event of reset) {
      Object.assign(event, UNTRIED);
      event.replays++;
    }
    return reset.length;
  }
}

interface Real {
  readonly stage: Stage;
  readonly store: EventStore;
  owner: string;
}

type Command = fc.AsyncCommand<Model, Real>;
const command = (text: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run: async (model, real) => {
    await run(model, real);
    await compare(model, real);
  },
  toString: () => text,
});

async function compare(model: Model, { store }: Real): Promise<void> {
  const { events } = await store.queue.search({ limit: 1000 });
  const told = (one: Pick<Event, 'id' | 'attempts' | 'replays' | 'deliveries'>) =>
    [one.id, one.attempts, one.replays, one.deliveries] as const;
  const found = events.map((one) => {
    const [isWaiting, hasBody] = [one.nextAttemptAt !== undefined, one.body !== undefined];
    return [...told(one), one.status, one.starts, one.late, isWaiting, hasBody];
  });
  const expected = model.events.toReversed().map((one) => {
    const running = model.isRunning(one) ? model.running.get(one.resource) : undefined;
    const { status, starts, late } = running
      ? { status: 'running', starts: one.starts + 1, late: running.late }
      : one;
    return [...told(one), status, starts, late, one.dueAt !== undefined, !one.isPruned];
  });
  expect(found).toEqual(expected);
}

const NEW = { deliveries: 1, replays: 0, everHandled: false, isPruned: false, ...UNTRIED };

const at = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(list.length, 1)];

const record = (resource: string, seconds: number) =>
  command(`record ${resource} ${seconds}`, async (model, { store }) => {
    const one = notified(resource, seconds);
    await store.queue.record(one);
    const { id, eventTime } = one;
    model.events.push({ id, resource, eventTime, place: model.events.length, ...NEW, ran: [] });
  });

const repeat = (n: number) =>
  command(`repeat ${n}`, async (model, { store }) => {
    const told = model.events.filter(({ reminder }) => reminder === undefined);
    const event = at(told, n);
    if (!event) return;
    const { id, resource, eventTime } = event;
    expect(await store.queue.record({ ...notified(resource), id: id as never, eventTime })).toMatchObject({
      status: 'duplicate',
    });
    event.deliveries++;
  });

const claim = (oldest: number, newest: number) =>
  command(`claim ${oldest} and ${newest}`, async (model, { store, owner }) => {
    const due = RESOURCES.map((name) => model.nextOf(name)).filter((one) => one !== undefined);
    const { claims, hasMore } = await store.queue.claim({ oldest, newest, owner, leaseMs: LEASE_MS });
    expect(claims.length).toBeLessThanOrEqual(oldest + newest);
    if (!hasMore || oldest + newest >= RESOURCES.length) expect(claims).toHaveLength(due.length);
    for (const mine of claims) {
      const event = present(due.find(({ id }) => id === mine.id));
      const late = model.isLate(event);
      expect(mine).toMatchObject({
        late,
        starts: event.starts + 1,
        attempts: event.attempts,
        replays: event.replays,
      });
      model.running.set(event.resource, { event, claim: mine, owner, late, until: model.now + LEASE_MS });
    }
  });

/** At a limit a claim gets nothing, and changes nothing for the claims of others. */
const claimAtLimit = (oldest: number) =>
  command(`claim ${oldest} at a limit`, async (_, { store, owner }) => {
    const limits = [{ kinds: ['media_available', 'reminder'], room: 0, newest: 0 }];
    const request = { oldest, newest: 2, limits, owner, leaseMs: LEASE_MS };
    expect((await store.queue.claim(request)).claims).toEqual([]);
  });

const settle = (n: number, settlement: Settlement) =>
  command(`settle ${n} ${settlement.outcome}`, async (model, { store }) => {
    const running = at([...model.running.values()], n);
    if (!running) return;
    const { resource } = running.event;
    model.end(running, settlement);
    const hasMore = model.nextOf(resource) !== undefined;
    expect(await store.queue.settle(running.claim, settlement)).toEqual({ isHeld: true, hasMore });
    expect((await store.queue.settle(running.claim, settlement)).isHeld).toBe(true); // its answer was lost
    expect((await store.queue.attempts({ id: running.event.id })).map(({ outcome }) => outcome)).toEqual(
      running.event.ran,
    );
  });

const wake = command('wake', async (model, { store }) => {
  await store.queue.wake();
  model.wake();
});

const comeDue = command('reminders come due', async (model, { store }) => {
  const due = [...model.reminders].filter(([, { dueAt }]) => dueAt <= model.now);
  expect((await store.queue.comeDue({})).sort()).toEqual(due.map(([, { resource }]) => resource).sort());
  const { events } = await store.queue.search({ limit: due.length || 1 });
  const came = due.length > 0 ? events.toReversed() : [];
  for (const { id, resource, eventTime, body = '' } of came) {
    const { name } = JSON.parse(body);
    expect(model.reminders.delete(`${resource} ${name}`)).toBe(true);
    model.events.push({
      id,
      resource,
      eventTime,
      place: model.events.length,
      reminder: name,
      ...NEW,
      ran: [],
    });
  }
});

const pass = (ms: number) =>
  command(`pass ${ms}`, async (model, { stage }) => {
    await stage.pass(ms);
    model.now += ms;
  });

const crash = command('crash', async (_, real) => {
  real.owner += ' again';
});

const recover = command('recover', async (model, { store, owner }) => {
  const own = [...model.running.values()].filter((one) => one.owner === owner);
  await store.queue.recover({ held: own.map(({ claim }) => claim.lease), maxAttempts: MOST_ATTEMPTS });
  for (const running of [...model.running.values()]) {
    if (running.owner === owner || running.until >= model.now) continue;
    const { crashes, attempts } = running.event;
    const isDead = crashes + 1 >= MOST_CRASHES || attempts + 1 >= MOST_ATTEMPTS;
    model.end(running, { ...HANDLED, status: isDead ? 'dead' : 'pending', outcome: 'lost' }, true);
    expect(await store.queue.settle(running.claim, HANDLED)).toEqual({ isHeld: false, hasMore: false });
  }
});

const renew = command('renew', async (model, { store, owner }) => {
  const own = [...model.running.values()].filter((one) => one.owner === owner);
  const held = await store.queue.renew({ list: own.map((one) => one.claim), leaseMs: LEASE_MS });
  expect([...held].sort()).toEqual(own.map((one) => one.claim.lease).sort());
  for (const one of own) one.until = model.now + LEASE_MS;
});

const replay = (resource: string | undefined, status: Event['status'] | undefined) =>
  command(`replay ${resource} ${status}`, async (model, { store }) => {
    const told = await store.queue.replay({ resource, status });
    const matches = (one: Event) =>
      !model.isRunning(one) &&
      (resource === undefined || one.resource === resource) &&
      (status === undefined || one.status === status);
    expect(told.events).toBe(model.replay(matches));
  });

const prune = command('prune', async (model, { store }) => {
  const gone = model.events.filter(
    ({ status, isPruned }) => (status === 'handled' || status === 'skipped') && !isPruned,
  );
  expect(await store.queue.prune({ before: Number.MAX_SAFE_INTEGER, limit: 1000 })).toBe(gone.length);
  for (const event of gone) Object.assign(event, { isPruned: true, ran: [] });
});

const settlements: fc.Arbitrary<Settlement> = fc.constantFrom(
  HANDLED,
  { ...HANDLED, reminders: [{ name: 'a', afterMs: 0 }] },
  {
    ...HANDLED,
    reminders: [
      { name: 'a', afterMs: 7000 },
      { name: 'b', afterMs: 19_000 },
    ],
  },
  { ...HANDLED, status: 'skipped', outcome: 'skipped', reminders: [{ name: 'a' }] },
  { ...HANDLED, status: 'dead', outcome: 'failed', error: 'no' },
  { ...HANDLED, status: 'pending', outcome: 'error', afterMs: 16_000 },
  { ...HANDLED, status: 'pending', outcome: 'retry', afterMs: 60_000, counts: false },
  { ...HANDLED, status: 'pending', outcome: 'interrupted', counts: false },
);
const resources = fc.constantFrom(...RESOURCES);
const commands = fc.commands(
  [
    fc.tuple(resources, fc.nat(5)).map(([resource, seconds]) => record(resource, seconds)),
    fc.tuple(resources, fc.nat(5)).map(([resource, seconds]) => record(resource, seconds)),
    fc.nat(20).map(repeat),
    fc.tuple(fc.nat(4), fc.nat(4)).map(([oldest, newest]) => claim(oldest, newest)),
    fc.nat(3).map(claimAtLimit),
    fc.tuple(fc.nat(2), settlements).map(([n, settlement]) => settle(n, settlement)),
    fc.tuple(fc.nat(2), settlements).map(([n, settlement]) => settle(n, settlement)),
    fc.constant(wake),
    fc.constant(comeDue),
    fc.constantFrom(...PASSING_MS).map(pass),
    fc.constant(crash),
    fc.constant(recover),
    fc.constant(renew),
    fc
      .tuple(
        fc.option(resources, { nil: undefined }),
        fc.constantFrom(undefined, 'handled', 'dead', 'pending' as const),
      )
      .map(([resource, status]) => replay(resource, status as Event['status'] | undefined)),
    fc.constant(prune),
  ],
  { maxCommands: 60, size: 'max' },
);

for (const [onEngine, all] of [
  [onSqlite, { small: 80, full: 4000 }],
  [onPostgres, { small: 40, full: 1200 }],
] as const)
  onEngine('a model', (stage) => {
    test('agrees with the store after each of many commands, with crashes and time that passes', async () => {
      const property = fc.asyncProperty(commands, async (list) => {
        await stage.empty();
        const real = { stage, store: stage.store, owner: 'own' };
        await fc.asyncModelRun(() => ({ model: new Model(), real }), list);
      });
      await fc.assert(property, { numRuns: size(all) });
    });
  });
