import type { Clock } from '../../base/clock.ts';

/** What processing an upload has got to. */
export type Stage = 'received' | 'thumbnail' | 'indexed' | 'complete';

/** When each stage is reached, as a part of the whole time. */
const stages: readonly (readonly [Stage, number])[] = [
  ['thumbnail', 0.25],
  ['indexed', 0.5],
  ['complete', 1],
];

/**
 * Goes through the stages after `received`, one after the other, over `totalMs` on the clock.
 * @returns a function that stops it; it may be called after the end too
 */
export function processUpload(clock: Clock, totalMs: number, reach: (stage: Stage) => void): () => void {
  const begun = clock.now();
  let cancel = () => {};
  const next = (index: number): void => {
    const stage = stages[index];
    if (stage === undefined) return;
    const [name, part] = stage;
    cancel = clock.after(begun + totalMs * part - clock.now(), () => {
      next(index + 1);
      reach(name);
    });
  };
  next(0);
  return () => cancel();
}
