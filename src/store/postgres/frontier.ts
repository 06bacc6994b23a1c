import type { MonotonicClock } from '../../base/clock.ts';
import { REPLAYS_FROM } from '../semantics/lane-order.ts';

/** A look along a whole index may take this part of the time at most, and comes this often at least. */
const PART = 1 / 20;
const LONGEST_PAUSE_MS = 5000;

/** Along the whole index. */
const WHOLE = { from: Number.NEGATIVE_INFINITY, freed: [] };

/** Longer than a dispatcher waits until it asks again. */
const SOON_MS = 1000;

/** So old may an event be that another process opens a lane for, and every look still finds it. */
const SLACK_MS = 5000;

/** The lanes in whose order a look begins somewhere: those of replays stand behind the others. */
export type Part = 'live' | 'replayed';
const PARTS = ['live', 'replayed'] as const satisfies readonly Part[];

function partOf(head: number): Part {
  return head < REPLAYS_FROM ? 'live' : 'replayed';
}

/** A lane that a look has found free and locked. */
interface Found {
  readonly resource: string;
  readonly head: number;
}

/**
 * Below which heads no lane is free, and up to when all leases that ran out were found, as far as this process knows.
 *
 * While a transaction anywhere in the server keeps an old snapshot, an index keeps what was taken out of it, and a look for the
 * lowest entry passes all of that: after ten minutes of 800 events a second half a million entries, for each claim. So a
 * look begins where something can be: at the lowest head that this process has opened since, or some seconds ago.
 * What other processes opened below, or left behind, is found by a look along the whole index, which comes the less often the
 * longer it takes.
 */
export class Frontier {
  readonly #clock: MonotonicClock;
  readonly #edges: Readonly<Record<Part, Edge>>;
  #lost = Number.NEGATIVE_INFINITY;
  /** when the last look along the whole index ended, and how long until the next one */
  #whole = { at: Number.POSITIVE_INFINITY, pauseMs: 0 };

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
    this.#edges = {
      live: new Edge(() => clock.now() - SLACK_MS),
      replayed: new Edge(() => REPLAYS_FROM + clock.now() - SLACK_MS),
    };
  }

  /** What one transaction learns. */
  begin(): FrontierSession {
    const clock = this.#clock;
    const edges = { live: this.#edges.live.begin(), replayed: this.#edges.replayed.begin() };
    const freed: string[] = [];
    let began: number | undefined;
    let foundLostUntil: number | undefined;
    const since = clock.monotonic() - this.#whole.at;
    const isWhole = since < 0 || since >= this.#whole.pauseMs;
    return {
      opened: (head) => edges[partOf(head)].opened(head),
      freed: (resources) => void freed.push(...resources),
      lookForFree: (part) => {
        began ??= clock.monotonic();
        const from = edges[part].look();
        return isWhole ? WHOLE : { from, freed };
      },
      foundFree: (part, lanes, end) => {
        edges[part].found(lanes, end);
        if (began === undefined || !isWhole) return;
        const now = clock.monotonic();
        this.#whole = { at: now, pauseMs: Math.min((now - began) / PART, LONGEST_PAUSE_MS) };
      },
      leased: (resources) => {
        const taken = new Set(resources);
        for (const part of PARTS) edges[part].leased(taken);
      },
      lookForLost: (now) => {
        foundLostUntil = now;
        return isWhole ? Number.NEGATIVE_INFINITY : this.#lost;
      },
      lookForDue: (now) => (isWhole ? Number.POSITIVE_INFINITY : now + SOON_MS),
      end: (isCommitted) => {
        if (isCommitted && foundLostUntil !== undefined) this.#lost = foundLostUntil;
        for (const part of PARTS) edges[part].end(isCommitted);
      },
    };
  }
}

/** Below which head no lane of a part is free. */
class Edge {
  readonly #atMost: () => number;
  #free = Number.NEGATIVE_INFINITY;
  /** the transactions that have looked for free lanes and have not ended, with the lowest head that others opened meanwhile */
  readonly #looks = new Set<{ opened: number }>();

  /** @param atMost below where other processes may open lanes that each look should find */
  constructor(atMost: () => number) {
    this.#atMost = atMost;
  }

  begin() {
    let opened = Number.POSITIVE_INFINITY;
    let openedSinceLook = Number.POSITIVE_INFINITY;
    const others = { opened: Number.POSITIVE_INFINITY };
    let found: { readonly lanes: readonly Found[]; readonly end: number } | undefined;
    let emptyBelow: number | undefined;
    return {
      opened: (head: number): void => {
        opened = Math.min(opened, head);
        openedSinceLook = Math.min(openedSinceLook, head);
      },
      look: (): number => {
        this.#looks.add(others);
        others.opened = Number.POSITIVE_INFINITY;
        openedSinceLook = Number.POSITIVE_INFINITY;
        return Math.min(this.#free, opened);
      },
      found: (lanes: readonly Found[], end: number): void => {
        found = { lanes, end };
        // What was found is free until it is leased.
        emptyBelow = Math.min(lanes[0]?.head ?? end, this.#atMost());
      },
      leased: (taken: ReadonlySet<string>): void => {
        if (!found) return;
        const left = found.lanes.find(({ resource }) => !taken.has(resource));
        emptyBelow = Math.min(left?.head ?? found.end, this.#atMost());
      },
      end: (isCommitted: boolean): void => {
        // Whether or not it was committed: what was opened may be there.
        this.#free =
          isCommitted && emptyBelow !== undefined
            ? Math.min(emptyBelow, openedSinceLook, others.opened)
            : Math.min(this.#free, opened);
        this.#looks.delete(others);
        for (const look of this.#looks) look.opened = Math.min(look.opened, opened);
      },
    };
  }
}

export interface FrontierSession {
  /** A lane has this head, and may be free. */
  opened(head: number): void;
  /** Lanes have become free, with heads that the server knows. */
  freed(resources: readonly string[]): void;
  /** Where to look for free lanes of a part: from a head on, and of those below it at those that were freed. */
  lookForFree(part: Part): { readonly from: number; readonly freed: readonly string[] };
  /** What that look has found, in the order of heads, and up to which head no other lane is free: infinity if that is all. */
  foundFree(part: Part, lanes: readonly Found[], end: number): void;
  /** These, of what was found, are free no more. */
  leased(resources: readonly string[]): void;
  /** From which end on to look for leases that have run out. */
  lookForLost(now: number): number;
  /** Up to which time to look for the next lease that runs out: whoever asks does so again long before. */
  lookForDue(now: number): number;
  end(isCommitted: boolean): void;
}

/** Looks along the whole index, always. */
export const NO_FRONTIER: FrontierSession = {
  opened: () => undefined,
  freed: () => undefined,
  lookForFree: () => WHOLE,
  foundFree: () => undefined,
  leased: () => undefined,
  lookForLost: () => Number.NEGATIVE_INFINITY,
  lookForDue: () => Number.POSITIVE_INFINITY,
  end: () => undefined,
};
