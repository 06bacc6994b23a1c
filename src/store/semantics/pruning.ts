import type { EventTables } from '../driver.ts';

export interface PruningStep {
  /** milliseconds since the epoch */
  readonly handledBefore: number;
  readonly limit: number;
  /** only these events, if given */
  readonly among: readonly string[] | undefined;
}

/** Empties events that ended handled or skipped, those that ended first first. They stay known. @returns how many */
export async function prune(
  tables: EventTables,
  { handledBefore, limit, among }: PruningStep,
): Promise<number> {
  const events = await tables.prunable(handledBefore, limit, among);
  await tables.empty(events);
  return events.length;
}
