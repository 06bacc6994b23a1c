import type { EventStore } from '../store/event-store.ts';

/** The places in the life of an event at which a process may die. */
export const PLACES = [
  /** before a notification is stored: its sender gets no answer, and sends it again */
  'before record',
  /** after it is stored, and before its sender has the answer: it comes again, as a duplicate */
  'after record',
  /** after an event was claimed, and before its handler runs */
  'after claim',
  /** before a step of `ctx.once` runs */
  'before step',
  /** after a step has run, and before its result is stored: it runs again */
  'between step',
  /** after the result of a step is stored */
  'after step',
  /** before and after a call of `ctx.statuses` */
  'before call',
  'after call',
  /** after the handler has ended, and before that is stored: it runs again */
  'before settle',
  /** after the end of the event is stored */
  'after settle',
] as const;

export type CrashPlace = (typeof PLACES)[number];

/** A point that a process reached. */
export interface CrashPoint {
  readonly place: CrashPlace;
  /** of a step its name, of a call its method and path, else the kinds of the events */
  readonly what: string;
}

/** Told of every point that a process reaches, at which it may kill it. */
export type PointListener = (point: CrashPoint) => void;

/** For methods of the store, the point that a call of it is. */
type Points = {
  readonly [name in keyof EventStore]?: (
    input: Parameters<EventStore[name]>,
    output: Awaited<ReturnType<EventStore[name]>>,
  ) => CrashPoint | undefined;
};

const before: Points = {
  record: ([{ kind }]) => ({ place: 'before record', what: kind }),
  step: ([, name]) => ({ place: 'before step', what: name }),
  saveStep: ([, { name }]) => ({ place: 'between step', what: name }),
  settle: ([{ kind }]) => ({ place: 'before settle', what: kind }),
};

const after: Points = {
  record: ([{ kind }]) => ({ place: 'after record', what: kind }),
  claim: (_input, claims) =>
    claims.length > 0 ? { place: 'after claim', what: claims.map(({ kind }) => kind).join(' ') } : undefined,
  saveStep: ([, { name }]) => ({ place: 'after step', what: name }),
  settle: ([{ kind }]) => ({ place: 'after settle', what: kind }),
};

type AnyPoint = ((input: readonly unknown[], output: unknown) => CrashPoint | undefined) | undefined;

/** The point ahead of a call of the store; undefined if it is none. */
export function pointBefore(name: PropertyKey, input: readonly unknown[]): CrashPoint | undefined {
  const pointOf = before[name as keyof Points] as AnyPoint;
  return pointOf?.(input, undefined);
}

/** The point behind a call of the store; undefined if it is none. */
export function pointAfter(
  name: PropertyKey,
  input: readonly unknown[],
  output: unknown,
): CrashPoint | undefined {
  const pointOf = after[name as keyof Points] as AnyPoint;
  return pointOf?.(input, output);
}
