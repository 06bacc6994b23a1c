import { createHash } from 'node:crypto';
import type { Tables } from '../driver.ts';
import type { ClockReading, ClockSet } from '../event-store.ts';
import { kept, toKept } from './kept.ts';

/** The names under which a database has the last change of its clock, and the readings of machines. */
const SET = 'the clock was set';
const READING = 'reading of the clock';
/** Machines, and their starts, share so many places: the later one of a place counts. */
const PLACES = 64;

const LONGEST_STEP_MS = 60_000;
const NOTED_STEP_MS = 1000;
const HOUR_MS = 3_600_000;

/**
 * Compares the clock with that of the machine's running time, by the last reading of the same machine, and keeps this reading where
 * the two have moved apart. Nothing is written while they agree.
 * @returns the last time that the clock was seen to be set by more than a minute; undefined if it never was
 */
export async function readClock(
  tables: Pick<Tables, 'meta' | 'setMeta'>,
  reading: ClockReading,
): Promise<ClockSet | undefined> {
  const place = `${READING} ${placeOf(reading.machine)}`;
  const before = await kept<ClockReading>(tables, place);
  const set = await kept<ClockSet>(tables, SET);
  const by = before?.machine === reading.machine ? bootOf(reading) - bootOf(before) : undefined;
  if (by !== undefined && Math.abs(by) < NOTED_STEP_MS) return set;
  await tables.setMeta(place, toKept(reading));
  if (by === undefined || Math.abs(by) <= LONGEST_STEP_MS || isSame(set, by, reading.now)) return set;
  const latest = { at: reading.now, by };
  await tables.setMeta(SET, toKept(latest));
  return latest;
}

/** Whether another machine has seen the same change. */
function isSame(set: ClockSet | undefined, by: number, now: number): boolean {
  return set !== undefined && Math.abs(set.by - by) <= LONGEST_STEP_MS && Math.abs(now - set.at) < HOUR_MS;
}

function placeOf(machine: string): number {
  return createHash('sha256').update(machine).digest().readUInt8() % PLACES;
}

/** When the machine was started, by the clock of this reading. */
function bootOf({ now, sinceBootMs }: ClockReading): number {
  return now - sinceBootMs;
}
