import v8 from 'node:v8';
import { keepYoungSpaceSmall, letYoungSpaceGrow } from './young-space.ts';

/**
 * By how much the space for old objects may grow, in percent of what was alive in it, before V8 collects what is garbage. V8 by itself
 * lets it grow up to fourfold while the machine has free memory. At `OFTEN` that costs an ack a tenth of its processor time under
 * full load, at `SELDOM` nothing that can be measured (docs/decisions/0015-small-at-rest.md). There is no call for it, only the flag; a
 * V8 that no longer knows it ignores it.
 */
const SELDOM = 100;
const OFTEN = 20;
/** The share of time in which the main thread of a process under load has something to do. */
const BUSY = 0.3;
const EVERY_MS = 1000;

let hasMany = false;
let growth: number | undefined;

/** Bounds the heap of this process from now on, by how busy it is. To be called once the program is loaded. */
export function boundHeap(): void {
  letYoungSpaceGrow();
  let before = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    grow(utilization > BUSY && !hasMany ? SELDOM : OFTEN);
  }, EVERY_MS).unref();
  grow(OFTEN);
}

/** Keeps the heap small, however busy the process is: for a command that goes through very many events. */
export function keepHeapSmall(): void {
  hasMany = true;
  keepYoungSpaceSmall('many events', true);
  grow(OFTEN);
}

function grow(percent: number): void {
  if (percent === growth) return;
  growth = percent;
  v8.setFlagsFromString(`--heap-growing-percent=${percent}`);
}
