/**
 * A time as HTML: in UTC as served; a script writes it in the reader's zone. It is what views may put in unescaped.
 * @param at ISO 8601, or null where there is none
 */
export function timeElement(at: string | null): string {
  const time = at === null ? Number.NaN : Date.parse(at);
  if (Number.isNaN(time)) return '<span class="quiet">none</span>';
  const exact = new Date(time).toISOString();
  return `<time datetime="${exact}" title="${exact.replace('T', ' ').replace('Z', ' UTC')}">${exact.slice(0, 10)} ${exact.slice(11, 19)} UTC</time>`;
}
