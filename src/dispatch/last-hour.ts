import { isKind } from '../notification/kinds.ts';
import type { EventStore, StoredEvent } from '../store/event-store.ts';

/** How the handler of a kind fared with the events that were received within the last hour. */
export interface LastHour {
  readonly handled: number;
  readonly skipped: number;
  /** runs that failed, whatever became of their events */
  readonly failed_attempts: number;
  readonly dead: number;
}

export const NONE: LastHour = { handled: 0, skipped: 0, failed_attempts: 0, dead: 0 };

const HOUR_MS = 3_600_000;
/** The newest events that are looked at, however many an hour has. */
export const MOST_EVENTS = 2000;
const PAGE = 500;
const FAILED: readonly string[] = ['failed', 'error', 'timeout', 'lost'];

/** @returns the figures of each kind that has some, all that are not in the list together as `unknown`; and whether the hour had more events than were looked at */
export async function lastHourOf(
  store: Pick<EventStore, 'events' | 'attempts' | 'clock'>,
): Promise<{ readonly kinds: ReadonlyMap<string, LastHour>; readonly isCut: boolean }> {
  const since = (await store.clock()).now - HOUR_MS;
  const kinds = new Map<string, LastHour>();
  let before: string | undefined;
  for (let seen = 0; seen < MOST_EVENTS; seen += PAGE) {
    const page = await store.events({}, { before, limit: PAGE });
    for (const event of page.filter(({ receivedAt }) => receivedAt >= since)) {
      const kind = isKind(event.kind) ? event.kind : 'unknown';
      const sum = kinds.get(kind) ?? NONE;
      kinds.set(kind, {
        handled: sum.handled + Number(event.status === 'handled'),
        skipped: sum.skipped + Number(event.status === 'skipped'),
        failed_attempts: sum.failed_attempts + (await failedAttemptsOf(store, event)),
        dead: sum.dead + Number(event.status === 'dead'),
      });
    }
    const last = page.at(-1);
    if (page.length < PAGE || !last || last.receivedAt < since) return { kinds, isCut: false };
    before = last.id;
  }
  return { kinds, isCut: true };
}

async function failedAttemptsOf(
  store: Pick<EventStore, 'attempts'>,
  { id, status, starts, replays }: StoredEvent,
): Promise<number> {
  const hasFailed = replays > 0 || starts > (status === 'handled' || status === 'skipped' ? 1 : 0);
  if (!hasFailed) return 0;
  return (await store.attempts(id)).filter(({ outcome }) => FAILED.includes(outcome)).length;
}
