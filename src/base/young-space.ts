import v8 from 'node:v8';

/**
 * V8 keeps young objects in a space that it doubles while many survive, to 134 MB, and hardly ever makes smaller. Acks are quicker with a
 * few megabytes of it than with one, and slower with more, which no cache of a processor holds. There is no call to bound it in a
 * process that runs, only the flag that says whether it may double; a V8 that no longer knows it ignores it.
 */
const ENOUGH_BYTES = 16_000_000;
/** How often its size is looked at, which takes some microseconds. */
const EVERY_MS = 100;

const reasonsAgainst = new Set<string>();
let mayGrow: boolean | undefined;

/**
 * Lets the space of this process for young objects grow from now on, as long as nothing is against it. To be called once the program is
 * loaded, since loading leaves little behind.
 */
export function letYoungSpaceGrow(): void {
  setInterval(look, EVERY_MS).unref();
  look();
}

/**
 * Says whether something is against its growth, such as much that clients make the process hold.
 * @param reason tells it from others
 */
export function keepYoungSpaceSmall(reason: string, isSo: boolean): void {
  if (isSo) reasonsAgainst.add(reason);
  else reasonsAgainst.delete(reason);
  look();
}

function look(): void {
  const isAllowed = reasonsAgainst.size === 0 && sizeOf('new_space') < ENOUGH_BYTES;
  if (isAllowed === mayGrow) return;
  mayGrow = isAllowed;
  v8.setFlagsFromString(`--semi-space-growth-factor=${isAllowed ? 2 : 1}`);
}

function sizeOf(space: string): number {
  return v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === space)?.space_size ?? 0;
}
