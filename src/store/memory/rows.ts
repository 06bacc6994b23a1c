import type {
  AttemptRow,
  ChannelRow,
  LedgerRow,
  NewLease,
  ResultRow,
  SealedSecret,
  Share,
  Sum,
  WorkRow,
} from '../driver.ts';
import type { DoneStep } from '../event-search.ts';
import { idOf } from '../semantics/matching.ts';
import type { Quarantined, StateValue, StoredEvent } from '../stored.ts';
import { Table, type UndoLog } from './table.ts';

/** An event as it was received; pruning removes its body. */
export type Received = LedgerRow & Pick<StoredEvent, 'id' | 'digest' | 'webhookId' | 'body'>;

export interface Lane {
  readonly resource: string;
  /** that of its oldest ready event: see semantics/lane-order.ts */
  readonly head: number;
  readonly lease: NewLease | undefined;
}

/** An entry of the quarantine. */
export interface Waiting extends Omit<Quarantined, 'deliveries'>, Share {
  /** the digest of its token */
  readonly key: string;
  readonly repeated: { readonly repeats: number; readonly lastAt: number } | undefined;
}

/** All tables. Events are named by their places in the ledger. */
export class Rows {
  readonly undo: UndoLog = [];
  readonly ledger = new Table<number, Received>(this.undo);
  /** places by event time and digest, and by id */
  readonly identities = new Table<string, number>(this.undo);
  readonly repeats = new Table<number, { readonly repeats: number; readonly lastAt: number }>(this.undo);
  /** up to where the ledger was taken into work; the last place in quarantine; how many entries it lost */
  readonly counters = new Table<'taken' | 'quarantined' | 'lost', number>(this.undo);
  readonly work = new Table<number, WorkRow>(this.undo);
  readonly lanes = new Table<string, Lane>(this.undo);
  readonly results = new Table<number, ResultRow>(this.undo);
  readonly attempts = new Table<number, readonly AttemptRow[]>(this.undo);
  readonly channels = new Table<string, ChannelRow>(this.undo);
  readonly steps = new Table<number, readonly DoneStep[]>(this.undo);
  readonly states = new Table<string, readonly StateValue[]>(this.undo);
  /** by webhook and fingerprint */
  readonly secrets = new Table<string, SealedSecret>(this.undo);
  /** webhooks that ever had a secret */
  readonly ownSecrets = new Table<string, string>(this.undo);
  /** how often something of the secrets was changed */
  secretChanges = 0;
  readonly meta = new Table<string, Uint8Array>(this.undo);
  /** by place */
  readonly quarantine = new Table<number, Waiting>(this.undo);
  /** what the shares of the quarantine hold */
  readonly shares = new Table<string, Share & Sum>(this.undo);

  /** The place of an event by its id; undefined if there is none. */
  placeOf(id: string): number | undefined {
    const known = idOf(id);
    return known === undefined ? undefined : this.identities.get(known);
  }

  /** An event with all that became of it; undefined if there is none. */
  event(place: number): Event | undefined {
    const received = this.ledger.get(place);
    if (!received) return undefined;
    const [result, work] = [this.results.get(place), this.work.get(place)];
    const isRunning = this.lanes.get(received.resource)?.lease?.event === place;
    const { attempts, interrupted, replays, late, lastError } = result ?? work ?? UNTAKEN;
    const { repeats, lastAt } = this.repeats.get(place) ?? { repeats: 0, lastAt: received.receivedAt };
    const { event: _, ...members } = received;
    return {
      place,
      late,
      interrupted,
      stored: {
        ...members,
        deliveries: 1 + repeats,
        lastDeliveryAt: Math.max(received.receivedAt, lastAt),
        status: result?.status ?? (isRunning ? 'running' : 'pending'),
        starts: attempts + interrupted,
        attempts,
        replays,
        nextAttemptAt: work?.nextAttemptAt,
        lastError,
        handledAt: result?.handledAt,
      },
    };
  }

  /** All events in the order of receipt. */
  events(): Event[] {
    return Array.from({ length: this.ledger.size }, (_, index) => this.event(index + 1)).filter(
      (event) => event !== undefined,
    );
  }
}

const UNTAKEN = { attempts: 0, interrupted: 0, replays: 0, late: undefined, lastError: undefined };

/** An event, and what readers do not see of it. */
export interface Event extends Pick<WorkRow, 'late' | 'interrupted'> {
  readonly place: number;
  readonly stored: StoredEvent;
}

/** The order of texts by their bytes in UTF-8, as databases have it. */
export function byText(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** The order of events by their times and then by their digests. */
export function byIdentity({ stored: one }: Event, { stored: other }: Event): number {
  return one.eventTime - other.eventTime || (one.digest < other.digest ? -1 : 1);
}

/** The order of events by their times and then as they were received. */
export function byTime(
  one: { readonly eventTime: number; readonly event: number },
  other: typeof one,
): number {
  return one.eventTime - other.eventTime || one.event - other.event;
}
