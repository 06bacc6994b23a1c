import { expect } from '@jest/globals';
import type { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type {
  Claim,
  DoneStep,
  EventStore,
  Settlement,
  StateChange,
  Status,
} from '../../../src/store/event-store.ts';
import { HANDLED, LEASE_MS, RELEASED, request, waiting } from '../../support/claiming.ts';
import type { CrashStage } from '../../support/crash-stage.ts';
import { type Fault, isOfFault } from '../../support/driver-faults.ts';
import { present } from '../../support/only.ts';
import { verified } from '../../support/verified-notification.ts';
import {
  byIdentity,
  claimed,
  fallDue,
  HOLD_MS,
  heads,
  holds,
  isLate,
  type ModelEvent,
  newEvent,
  note,
  reset,
  type Shares,
  visible,
  visibleOf,
} from './model-events.ts';
import { ModelSecrets, type SecretOperation } from './model-secrets.ts';

type Owner = 0 | 1;
type Step = DoneStep & { readonly result: string };

export type Operation =
  | { readonly do: 'record'; readonly owner: Owner; readonly media: number; readonly at: number }
  | ({ readonly do: 'claim'; readonly owner: Owner } & Shares)
  | {
      readonly do: 'settle';
      readonly which: number;
      readonly status: Exclude<Status, 'running'>;
      readonly after: number | undefined;
      readonly state: readonly StateChange[];
    }
  /** under one of the last claims */
  | { readonly do: 'save'; readonly back: number; readonly step: Step }
  | {
      readonly do: 'replace state';
      readonly owner: Owner;
      readonly media: number;
      readonly state: readonly StateChange[];
    }
  | { readonly do: 'delete state'; readonly owner: Owner; readonly media: number }
  | { readonly do: 'renew' | 'release'; readonly owner: Owner }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'replay'; readonly status: Status | undefined; readonly resetSteps: boolean }
  | { readonly do: 'prune'; readonly limit: number }
  | (SecretOperation & { readonly owner: Owner })
  | { readonly do: 'crash' }
  | { readonly do: 'fail'; readonly fault: Fault; readonly operation: Operation };

/** What a run needs to have processes crash and calls of the driver fail. */
export type Breakage = Pick<CrashStage, 'crash' | 'open' | 'faults'>;

const OUTCOMES = { handled: 'handled', skipped: 'skipped', dead: 'failed', pending: 'error' } as const;

/** Does each operation to the stores and to the model, and compares what they answer. */
export class ModelRun {
  readonly #breakage: Breakage | undefined;
  #stores: readonly [EventStore, EventStore];
  readonly #clock: VirtualClock;
  readonly #events: ModelEvent[] = [];
  /** by resource, values by name */
  readonly #state = new Map<string, Map<string, string>>();
  readonly #secrets = new ModelSecrets();
  /** every claim, lost ones included, but for claims that their owner repeated */
  #claims: { readonly claim: Claim; readonly owner: Owner }[] = [];

  constructor(stores: readonly [EventStore, EventStore], clock: VirtualClock, breakage?: Breakage) {
    this.#stores = stores;
    this.#clock = clock;
    this.#breakage = breakage;
  }

  async step(operation: Operation): Promise<void> {
    switch (operation.do) {
      case 'record':
        return this.#record(operation.owner, operation.media, operation.at);
      case 'claim':
        return this.#claim(operation);
      case 'settle':
        return this.#settle(operation);
      case 'save':
        return this.#save(operation.back, operation.step);
      case 'replace state':
        return this.#replaceState(operation);
      case 'delete state':
        return this.#deleteState(operation);
      case 'renew':
        return this.#renew(operation.owner);
      case 'release':
        return this.#release(operation.owner);
      case 'advance':
        return this.#clock.advance(operation.ms);
      case 'replay':
        return this.#replay(operation);
      case 'prune':
        return this.#prune(operation.limit);
      case 'add secret':
      case 'retire secret':
        return this.#secrets.step(this.#stores[operation.owner], operation, this.#now());
      case 'crash':
        return this.#crash();
      case 'fail':
        return this.#fail(operation);
    }
  }

  /** Nothing lost, nothing changed that should not be, and never two running of one resource. */
  async compare(): Promise<void> {
    const stored = await this.#stores[0].events({}, { limit: 1000 });
    expect(stored.map(visibleOf).reverse()).toEqual(this.#events.map(visible));
    const running = stored.filter(({ status }) => status === 'running').map(({ resource }) => resource);
    expect(running).toEqual([...new Set(running)]);
    await this.#compareSteps(this.#events.filter(({ steps }) => steps.size > 0));
    for (const resource of this.#state.keys())
      expect(await this.#stores[1].state(resource)).toEqual(this.#stateOf(resource));
    await this.#secrets.compare(this.#stores, this.#now());
  }

  async #compareSteps(events: readonly ModelEvent[]): Promise<void> {
    for (const { id, steps } of events) {
      const stored = await this.#stores[1].steps(id);
      expect(new Map(stored.map(({ name, result }) => [name, result]))).toEqual(steps);
    }
  }

  /** Handles what is left; tells what did not end, and checks the record of attempts. */
  async drain(): Promise<readonly string[]> {
    for (const owner of [0, 1] as const) await this.#release(owner);
    await this.#clock.advance(HOLD_MS + LEASE_MS);
    for (let left = 1000; left > 0 && heads(this.#due()).length > 0; left--) {
      await this.#claim({ do: 'claim', owner: 0, limit: 4, newest: 1, replayed: 1 });
      for (const { claim, owner } of this.#claims.splice(0)) await this.#end(claim, owner, HANDLED);
    }
    await this.compare();
    for (const { id, outcomes, pruned } of this.#events) {
      const stored = (await this.#stores[1].attempts(id)).map((one) => [
        `${one.replay}/${one.attempt}`,
        one.outcome,
      ]);
      const expected = pruned ? [] : [...outcomes].sort(([left], [right]) => (left < right ? -1 : 1));
      expect(stored).toEqual(expected);
    }
    await this.#compareSteps(this.#events);
    return this.#events
      .filter(({ status }) => status === 'pending' || status === 'running')
      .map(({ id }) => id);
  }

  async #record(owner: Owner, media: number, at: number): Promise<void> {
    const notification = verified({ media_id: `media-${media}`, at });
    const { status, id } = await this.#stores[owner].record(notification);
    const known = this.#events.find((event) => event.id === id);
    expect(status).toBe(known ? 'duplicate' : 'accepted');
    if (known) known.deliveries++;
    else
      this.#events.push(
        newEvent({ id, resource: notification.resource, eventTime: at, receivedAt: this.#now() }),
      );
  }

  async #claim({ owner, limit, newest, replayed }: Operation & { do: 'claim' }): Promise<void> {
    await this.#renew(owner); // an owner that claims is alive, and keeps its leases
    const asked = request({ owner: nameOf(owner), limit, newest, replayed });
    const { claims, dueInMs } = await this.#stores[owner].claim(asked);
    fallDue(this.#events, this.#now());
    const expected = claimed(this.#events, { limit, newest, replayed });
    expect(claims.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
    for (const claim of claims) {
      const event = this.#event(claim.id);
      event.late ??= isLate(this.#events, event);
      expect(claim).toMatchObject({ eventTime: event.eventTime, late: event.late });
      expect(claim.state).toEqual(this.#stateOf(event.resource));
      this.#start(event, claim, owner);
    }
    const due = this.#events.flatMap(({ nextAttemptAt, lease }) => nextAttemptAt ?? lease?.until ?? []);
    expect(dueInMs).toBe(due.length > 0 ? Math.min(...due) - this.#now() : undefined);
  }

  #start(event: ModelEvent, claim: Claim, owner: Owner): void {
    expect(event).toMatchObject({
      status: 'pending',
      lease: undefined,
      nextAttemptAt: undefined,
      pruned: false,
    });
    event.status = 'running';
    event.attempts++;
    event.lease = { owner: nameOf(owner), startedAt: this.#now(), until: this.#now() + LEASE_MS };
    this.#claims = this.#claims.filter((held) => held.owner !== owner || held.claim.id !== claim.id);
    this.#claims.push({ claim, owner });
  }

  async #settle({ which, status, after, state }: Operation & { do: 'settle' }): Promise<void> {
    const held = this.#claims[which % Math.max(1, this.#claims.length)];
    if (!held) return;
    const settlement = {
      ...waiting(status === 'pending' ? after : undefined),
      status,
      outcome: OUTCOMES[status],
      state,
    };
    await this.#end(held.claim, held.owner, settlement);
  }

  async #end(claim: Claim, owner: Owner, settlement: Settlement): Promise<void> {
    const event = this.#event(claim.id);
    const current = holds(event, claim, nameOf(owner));
    expect(await this.#stores[owner].settle(claim, nameOf(owner), settlement)).toBe(current);
    if (!current) return;
    const { status, outcome, afterMs } = settlement;
    note(event, outcome);
    event.status = status;
    event.nextAttemptAt = afterMs === undefined ? undefined : this.#now() + afterMs;
    event.handledAt = status === 'handled' || status === 'skipped' ? this.#now() : undefined;
    event.lease = undefined;
    this.#changeState(event.resource, settlement.state ?? []);
  }

  /** One result is kept of a step: the first that came under a lease. */
  async #save(back: number, step: Step): Promise<void> {
    const held = this.#claims.at(-1 - back);
    if (!held) return;
    const event = this.#event(held.claim.id);
    const isHeld = holds(event, held.claim, nameOf(held.owner));
    const known = event.steps.get(step.name);
    const expected = known ?? (isHeld ? step.result : undefined);
    const saved = await this.#stores[held.owner].saveStep(held.claim, nameOf(held.owner), step);
    expect(saved?.result).toBe(expected);
    if (expected !== undefined) event.steps.set(step.name, expected); // before a call that may fail
    expect((await this.#stores[0].step(held.claim.id, step.name))?.result).toBe(expected);
  }

  async #replaceState({ owner, media, state }: Operation & { do: 'replace state' }): Promise<void> {
    await this.#stores[owner].replaceState(resourceOf(media), state);
    this.#state.delete(resourceOf(media));
    this.#changeState(resourceOf(media), state);
  }

  async #deleteState({ owner, media }: Operation & { do: 'delete state' }): Promise<void> {
    const names = this.#stateOf(resourceOf(media)).length;
    expect(await this.#stores[owner].deleteState(resourceOf(media))).toBe(names);
    this.#state.delete(resourceOf(media));
  }

  #changeState(resource: string, changes: readonly StateChange[]): void {
    const values = this.#state.get(resource) ?? new Map<string, string>();
    for (const { name, value } of changes) {
      if (value === null) values.delete(name);
      else values.set(name, value);
    }
    this.#state.set(resource, values);
  }

  #stateOf(resource: string): readonly { readonly name: string; readonly value: string }[] {
    const values = [...(this.#state.get(resource) ?? [])].map(([name, value]) => ({ name, value }));
    return values.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  async #renew(owner: Owner): Promise<void> {
    const renewed = await this.#stores[owner].renew(nameOf(owner), LEASE_MS);
    const held = this.#events.filter(({ lease }) => lease?.owner === nameOf(owner));
    for (const { lease } of held) if (lease) lease.until = this.#now() + LEASE_MS;
    expect([...renewed].sort()).toEqual(held.map(({ id }) => id).sort());
  }

  async #release(owner: Owner): Promise<void> {
    const held = this.#claims.filter(
      (one) => one.owner === owner && holds(this.#event(one.claim.id), one.claim, nameOf(owner)),
    );
    for (const { claim } of held) {
      expect(await this.#stores[owner].settle(claim, nameOf(owner), RELEASED)).toBe(true);
      const event = this.#event(claim.id);
      note(event, 'interrupted');
      event.status = 'pending';
      event.attempts--;
      event.released++;
      event.lease = undefined;
    }
  }

  async #replay({ status, resetSteps }: Operation & { do: 'replay' }): Promise<void> {
    const meant = this.#replayed(status);
    expect(await this.#stores[0].replay({ status }, { resetSteps })).toBe(meant.length);
    for (const event of meant) {
      reset(event, undefined);
      if (resetSteps) event.steps.clear();
    }
  }

  #replayed(status: Status | undefined): ModelEvent[] {
    return this.#events.filter(
      (event) =>
        !event.pruned &&
        (status === undefined || event.status === status) &&
        (['handled', 'skipped', 'dead'].includes(event.status) || event.nextAttemptAt !== undefined),
    );
  }

  async #prune(limit: number): Promise<void> {
    const before = this.#now() - 5000;
    const old = this.#events
      .filter(({ handledAt, pruned }) => handledAt !== undefined && handledAt < before && !pruned)
      .sort((left, right) => (left.handledAt ?? 0) - (right.handledAt ?? 0));
    // Which of several that ended at the same moment go first is not promised: take all of that moment.
    const end = old[limit - 1]?.handledAt ?? before;
    const meant = old.filter(({ handledAt }) => (handledAt ?? 0) <= end);
    const pruned = await this.#stores[1].prune(Math.min(before, end + 1), meant.length);
    expect(pruned).toBe(meant.length);
    for (const event of meant) {
      event.pruned = true;
      event.steps.clear();
    }
  }

  /** All processes end. Others come in their place, with the names of the former ones, and so with their leases. */
  async #crash(): Promise<void> {
    if (!this.#breakage) return;
    await this.#breakage.crash();
    this.#stores = [await this.#breakage.open(), await this.#breakage.open()];
  }

  /** A call of the driver fails: the model stays as it is, and then the same operation is done. */
  async #fail({ fault, operation }: Operation & { do: 'fail' }): Promise<void> {
    if (!this.#breakage) return;
    const { faults } = this.#breakage;
    faults.arm(fault);
    const [result] = await Promise.allSettled([this.step(operation)]);
    faults.disarm();
    if (result.status === 'fulfilled') return; // it has fewer calls, or took something in, which it does later
    if (!isOfFault(result.reason)) throw result.reason;
    if (operation.do === 'replay') await this.#hold(operation);
    await this.compare();
    await this.step(operation);
  }

  /** A replay failed: if that was after its first commit, its events are held now, and fall due in their order. */
  async #hold({ status, resetSteps }: Operation & { do: 'replay' }): Promise<void> {
    const meant = this.#replayed(status).sort(byIdentity);
    const held = meant.map((event, index) => ({ event, until: this.#now() + HOLD_MS + index }));
    for (const { event, until } of held) {
      if ((await this.#stores[0].event(event.id))?.nextAttemptAt !== until) return;
    }
    for (const { event, until } of held) {
      reset(event, until);
      if (resetSteps) event.steps.clear();
    }
  }

  #due(): readonly ModelEvent[] {
    fallDue(this.#events, this.#now());
    return this.#events;
  }

  #event(id: string): ModelEvent {
    return present(this.#events.find((event) => event.id === id));
  }

  #now(): number {
    return this.#clock.now();
  }
}

function resourceOf(media: number): string {
  return `media:media-${media}`;
}

function nameOf(owner: Owner): string {
  return `owner-${owner}`;
}
