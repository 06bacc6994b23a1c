import type { EventStore } from '../store/event-store.ts';

/** The places in the life of an event at which a process may die. */
export type CrashPlace =
  /** before a notification is stored: its sender gets no answer, and sends it again */
  | 'before record'
  /** after it is stored, and before its sender has the answer: it comes again, as a duplicate */
  | 'after record'
  /** after an event was claimed, and before its handler runs */
  | 'after claim'
  /** before a step of `ctx.once` runs */
  | 'before step'
  /** after a step has run, and before its result is stored: it runs again */
  | 'between step'
  /** after the result of a step is stored */
  | 'after step'
  /** before and after a call of `ctx.statuses` */
  | 'before call'
  | 'after call'
  /** after the handler has ended, and before that is stored: it runs again */
  | 'before settle'
  /** after the end of the event is stored */
  | 'after settle';

/** A point that a process reached. */
export interface CrashPoint {
  readonly place: CrashPlace;
  /** of a step its name, of a call its method and path, else the kinds of the events */
  readonly what: string;
}

/** The calls of a store at which a process may die. @param reach told of each point; a process that dies there waits forever */
export function watched(
  store: EventStore,
  reach: (place: CrashPlace, what: string) => Promise<void>,
): Pick<EventStore, 'record' | 'claim' | 'step' | 'saveStep' | 'settle'> {
  return {
    async record(notification, receivedAt) {
      await reach('before record', notification.kind);
      const recorded = await store.record(notification, receivedAt);
      await reach('after record', notification.kind);
      return recorded;
    },
    async claim(request) {
      const claimed = await store.claim(request);
      const { claims } = claimed;
      if (claims.length > 0) await reach('after claim', claims.map(({ kind }) => kind).join(' '));
      return claimed;
    },
    async step(key, name) {
      await reach('before step', name);
      return store.step(key, name);
    },
    async saveStep(key, step) {
      await reach('between step', step.name);
      const saved = await store.saveStep(key, step);
      await reach('after step', step.name);
      return saved;
    },
    async settle(claim, settlement) {
      await reach('before settle', claim.kind);
      const settled = await store.settle(claim, settlement);
      await reach('after settle', claim.kind);
      return settled;
    },
  };
}
