export { durationText } from '../../base/duration.ts';
export { number, plural } from '../../base/text.ts';
export { headlineOf } from '../../base/thrown.ts';
export { filterOfKind } from '../../notification/kinds.ts';

const MINUTE_MS = 60_000;

/** A duration in the one or two units that matter, such as `2 h 5 min`; a dash for none. */
export function duration(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / MINUTE_MS);
  const hours = Math.floor(minutes / 60);
  if (hours === 0) return `${minutes} min`;
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A number of bytes in MiB or GiB. */
export function size(bytes: number): string {
  const mib = bytes / 1024 ** 2;
  return mib < 1024 ? `${mib.toFixed(mib < 10 ? 1 : 0)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}

/** The points of a line in a plot 61 wide and 1 high: a step for each minute, the last one on the right; nothing where there was none. */
export function pointsOf(minutes: readonly (number | null)[], most: number): string {
  const left = 61 - minutes.length;
  const steps = minutes.map((value, at) => {
    const y = 1 - (value ?? 0) / (most || 1);
    return value === null ? '' : `${left + at},${y} ${left + at + 1},${y}`;
  });
  return steps.join(' ');
}

/** The name of a kind, also of none. */
export function kindName(kind: string): string {
  return kind || '(no kind)';
}

/** The list of events with these filters. */
export function eventsPath(filters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(filters);
  return query.size === 0 ? 'events' : `events?${query}`;
}

/** A state as HTML. Views insert it unescaped. */
export function badge(state: string): string {
  return `<span class="status ${state}">${state}</span>`;
}

/**
 * A time as HTML, in UTC; a script changes it to the reader's zone. Views insert it unescaped.
 * @param at ISO 8601, or null for none
 */
export function time(at: string | null): string {
  if (at === null) return '<span class="quiet">none</span>';
  const exact = new Date(at).toISOString();
  const utc = exact.replace('T', ' ').replace('Z', ' UTC');
  return `<time datetime="${exact}" title="${utc}">${utc.replace(/\.\d+/, '')}</time>`;
}
