import type { Tables } from '../driver.ts';
import type { ClockReading, ClockSet } from '../event-store.ts';

/** The name under which a database has what was read of its clock. */
const READINGS = 'readings of the clock';
/** Further ones are forgotten: machines that are gone, or former starts of a machine. */
const MOST_MACHINES = 16;
const LONGEST_STEP_MS = 60_000;
const NOTED_STEP_MS = 1000;

interface Readings {
  /** the newest first */
  readonly machines: readonly ClockReading[];
  /** the last time that the clock was seen to be set */
  readonly set?: ClockSet;
}

/**
 * Compares the clock with that of the machine's running time, by the last reading of the same machine, and keeps this reading where
 * the two have moved apart. Nothing is written while they agree.
 * @returns the last time that the clock was seen to be set by more than a minute; undefined if it never was
 */
export async function readClock(
  tables: Pick<Tables, 'meta' | 'setMeta'>,
  reading: ClockReading,
): Promise<ClockSet | undefined> {
  const { machines, set } = await readingsOf(tables);
  const before = machines.find(({ machine }) => machine === reading.machine);
  // A machine that runs for less time than before was started anew meanwhile, and may have stood still for any time.
  const by =
    before && before.sinceBootMs <= reading.sinceBootMs ? bootOf(reading) - bootOf(before) : undefined;
  if (by !== undefined && Math.abs(by) < NOTED_STEP_MS) return set;
  const isSet = by !== undefined && Math.abs(by) > LONGEST_STEP_MS;
  const latest = isSet ? { at: reading.now, by } : set;
  const others = machines.filter((one) => one !== before).slice(0, MOST_MACHINES - 1);
  const next: Readings = { machines: [reading, ...others], ...(latest && { set: latest }) };
  await tables.setMeta(READINGS, Buffer.from(JSON.stringify(next)));
  return latest;
}

async function readingsOf(tables: Pick<Tables, 'meta'>): Promise<Readings> {
  const stored = await tables.meta(READINGS);
  return stored ? (JSON.parse(Buffer.from(stored).toString('utf8')) as Readings) : { machines: [] };
}

/** When the machine was started, by the clock of this reading. */
function bootOf({ now, sinceBootMs }: ClockReading): number {
  return now - sinceBootMs;
}
