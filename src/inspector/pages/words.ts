export { headlineOf } from '../../base/thrown.ts';
export { filterOfKind } from '../../notification/kinds.ts';

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** A duration in the two largest units that matter, such as `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const first = UNITS.findIndex(([, size]) => ms >= size);
  let rest = ms;
  const parts = UNITS.slice(first, first + 2).map(([unit, size]) => {
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    return whole === 0 ? '' : `${whole} ${unit}`;
  });
  return parts.filter((part) => part !== '').join(' ');
}

/** A measured time of milliseconds, or a dash. */
export function milliseconds(ms: number | null): string {
  if (ms === null) return '–';
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

export function number(count: number): string {
  return Math.round(count).toLocaleString('en');
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** The path of an event's page, below the listener's. */
export function eventPath(id: string): string {
  return `events/${encodeURIComponent(id)}`;
}

/** The name of a kind, also of none. */
export function kindName(kind: string): string {
  return kind || '(no kind)';
}

/** The list of events with these filters. */
export function eventsPath(filters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(filters).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return given.length === 0 ? 'events' : `events?${new URLSearchParams(given)}`;
}

/** A state as HTML. Views insert it unescaped. */
export function badge(state: string): string {
  return `<span class="status ${state}">${symbol(state)} ${state}</span>`;
}

const SYMBOLS: Readonly<Record<string, string>> = {
  pending: '◷',
  running: '▶',
  handled: '✓',
  skipped: '»',
  dead: '✕',
  failed: '✕',
  dismissed: '–',
  active: '●',
  idle: '○',
};

/** Tells states apart without colour. */
export function symbol(state: string): string {
  return SYMBOLS[state] ?? '•';
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
