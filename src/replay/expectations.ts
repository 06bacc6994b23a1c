import { isDeepStrictEqual } from 'node:util';
import { visible } from '../base/text.ts';
import type { RecordedEvent } from './sources.ts';

/** How an event has ended. */
export interface EventEnd {
  readonly status: string;
  readonly attempts: number;
  /** the first line of why it was skipped or is dead */
  readonly reason: string | undefined;
  /** what `ctx.state` of its media or channel holds once everything has settled */
  readonly state: Readonly<Record<string, unknown>>;
}

/** Some members of an end. */
export type PartOfEnd = { readonly [name in keyof EventEnd]?: EventEnd[name] | undefined };

/** How events have ended, by their ids. */
export type Endings = ReadonlyMap<string, PartOfEnd>;

/** An event that ended otherwise than expected. */
export interface Difference extends Pick<RecordedEvent, 'place' | 'id' | 'kind' | 'resource'> {
  readonly expected: PartOfEnd;
  readonly came: PartOfEnd;
  /** what became of the events of its media or channel before it, the oldest first */
  readonly before: readonly string[];
}

/** How many events before one are told. */
const MOST_BEFORE = 10;

/** The events that ended otherwise than expected, in the order in which they were received. */
export function differences(
  events: readonly RecordedEvent[],
  endings: Endings,
  expectOf: (event: RecordedEvent) => PartOfEnd | undefined = ({ expect }) => expect,
): Difference[] {
  const earlier = new Map<string, readonly string[]>();
  return events.flatMap((event) => {
    const { place, id, kind, resource } = event;
    const end = endings.get(id) ?? {};
    const before = earlier.get(resource) ?? [];
    const reason = end.reason === undefined ? '' : `: ${end.reason}`;
    earlier.set(resource, [...before, `${place}: ${kind} ${end.status}${reason}`].slice(-MOST_BEFORE));
    const expected = expectOf(event) ?? {};
    const differing = namesOf(expected).filter((name) => !isDeepStrictEqual(expected[name], end[name]));
    if (differing.length === 0) return [];
    const told = differing.includes('status') ? [...differing, 'reason' as const] : differing;
    const ends = { expected: picked(expected, differing), came: picked(end, told) };
    return { place, id, kind, resource, ...ends, before };
  });
}

/** The lines that tell of a difference. */
export function told({ expected, came, before, ...event }: Difference): string {
  const ends = [`expected  ${JSON.stringify(expected)}`, `came      ${JSON.stringify(came)}`];
  const earlier = before.map((line, index) => `${index === 0 ? 'before' : '      '}    ${line}`);
  return [titleOf(event), ...ends, ...earlier].join('\n  ');
}

/** An event as a check names it. */
function titleOf({ place, kind, resource }: Pick<Difference, 'place' | 'kind' | 'resource'>): string {
  return `${place}: ${kind} of ${resource}`;
}

/**
 * The same events, expecting what came. A line keeps to the members that it has; one without expectations has all of them,
 * with the state at the last event of each media or channel.
 */
export function updated(events: readonly RecordedEvent[], ends: Endings): RecordedEvent[] {
  const last = new Map(events.map((event) => [event.resource, event]));
  return events.map((event) => {
    const { state, ...end } = ends.get(event.id) ?? {};
    const all = last.get(event.resource) === event ? { ...end, state } : end;
    const expect = picked({ ...end, state }, namesOf(event.expect ?? all));
    return { ...event, expect: expect as RecordedEvent['expect'] };
  });
}

const namesOf = (ending: PartOfEnd) => Object.keys(ending) as (keyof EventEnd)[];

const picked = (ending: PartOfEnd, names: readonly (keyof EventEnd)[]): PartOfEnd =>
  Object.fromEntries(names.map((name) => [name, ending[name]]));

/** What is checked: the end of an event, or all ends once more. */
export interface Case {
  readonly title: string;
  readonly failure: string | undefined;
}

/** Events as cases. @param suffix of their titles */
export function casesOf(events: readonly RecordedEvent[], found: readonly Difference[], suffix = ''): Case[] {
  const failures = new Map(found.map((difference) => [difference.place, told(difference)]));
  return events.map((event) => ({ title: titleOf(event) + suffix, failure: failures.get(event.place) }));
}

const xml = (text: string) =>
  visible(text).replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Cases as JUnit XML, which CI systems show. @param file the name of the recording */
export function junitOf(file: string, cases: readonly Case[]): string {
  const elements = cases.map(({ title, failure }) => {
    const inner = failure && `<failure message="ended otherwise than expected">${xml(failure)}</failure>`;
    return `  <testcase classname="${xml(file)}" name="${xml(title)}">${inner ?? ''}</testcase>\n`;
  });
  const failures = cases.filter(({ failure }) => failure).length;
  const suite = `<testsuite name="${xml(file)}" tests="${cases.length}" failures="${failures}">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${suite}\n${elements.join('')}</testsuite>\n`;
}
