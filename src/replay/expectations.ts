import { isDeepStrictEqual } from 'node:util';
import { visible } from '../base/text.ts';
import { headlineOf } from '../base/thrown.ts';
import { ofSubscriber, subscriberOf } from '../store/stored.ts';
import type { RecordedEvent } from './sources.ts';

/** How an event has ended. */
export interface EventEnd {
  readonly status: string;
  readonly attempts: number;
  /** the first line of why it was skipped or is dead */
  readonly reason: string | undefined;
  /** what `ctx.state` of its media or channel holds once everything has settled */
  readonly state: Readonly<Record<string, unknown>>;
  /** what has become of the reminders of its media or channel by then, and how often: of `close handled`, `close set` */
  readonly reminders: Readonly<Record<string, number>>;
}

/** Some members of an end. */
export type PartOfEnd = { readonly [name in keyof EventEnd]?: EventEnd[name] | undefined };

/** How events have ended, by their ids; each event of a subscriber has an end of its own. */
export type Endings = ReadonlyMap<string, PartOfEnd>;

/** Where a subscriber has no event of a notification. */
const NO_EVENT: PartOfEnd = { status: 'no event' };

/** The status of an event whose handler never ends, which no line can expect. */
export const NEVER_ENDED = 'never ended';

/** An event of a recorded notification: that of the handlers without a name, or that of a subscriber. */
interface EventOf extends Omit<RecordedEvent, 'id' | 'expect'> {
  readonly id: string;
  readonly expect: PartOfEnd | undefined;
  /** no later event of its media or channel is there, of the same subscriber */
  readonly isLast: boolean;
}

/** All events that a recording brings about or should: of each notification its own, and those of subscribers. */
function eventsOf(events: readonly RecordedEvent[], ends: Endings): EventOf[] {
  const known = new Set([...ends.keys()].map(subscriberOf));
  const all = events.flatMap((event) => {
    const { subscribers, ...own } = event.expect ?? {};
    const expects: Readonly<Record<string, PartOfEnd | undefined>> = {
      '': event.expect && own,
      ...subscribers,
    };
    return [...known.union(new Set(Object.keys(expects)))].flatMap((name) => {
      const id = ofSubscriber(event.id, name);
      const expect = name in expects ? expects[name] : subscribers && NO_EVENT;
      return ends.has(id) || expects[name] ? { ...event, id, expect } : [];
    });
  });
  const last = new Map(all.map((event) => [laneOf(event), event]));
  return all.map((event) => ({ ...event, isLast: last.get(laneOf(event)) === event }));
}

const laneOf = ({ id, resource }: Pick<EventOf, 'id' | 'resource'>) =>
  ofSubscriber(resource, subscriberOf(id));

/** An event that ended otherwise than expected. */
export interface Difference extends Pick<EventOf, 'place' | 'id' | 'kind' | 'resource'> {
  readonly expected: PartOfEnd;
  readonly came: PartOfEnd;
  /** what became of the events of its media or channel before it, the oldest first */
  readonly before: readonly string[];
}

/** An end in a line: the first one of its reason counts. */
export const endAsText = (what: string, { status, reason }: Pick<PartOfEnd, 'status' | 'reason'>) =>
  `${what} ${status}${reason === undefined ? '' : `: ${headlineOf(reason)}`}`;

/** How many events before one are told. */
const MOST_BEFORE = 10;

/** The events that ended otherwise than expected, in the order in which they were received. */
export function differences(
  events: readonly RecordedEvent[],
  endings: Endings,
  expectOf: (event: EventOf) => PartOfEnd | undefined = ({ expect }) => expect,
): Difference[] {
  const earlier = new Map<string, readonly string[]>();
  return eventsOf(events, endings).flatMap((event) => {
    const { place, id, kind, resource } = event;
    const end = endings.get(id) ?? NO_EVENT;
    const before = earlier.get(laneOf(event)) ?? [];
    earlier.set(laneOf(event), [...before, endAsText(`${place}: ${kind}`, end)].slice(-MOST_BEFORE));
    const isUnended = end.status === NEVER_ENDED;
    const expected = expectOf(event) ?? (isUnended ? {} : undefined);
    if (!expected) return [];
    const names = end === NO_EVENT || isUnended ? (['status'] as const) : namesOf(expected);
    const differing = names.filter((name) => !isDeepStrictEqual(expected[name], end[name]));
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
function titleOf({ place, id, kind, resource }: Omit<Difference, 'expected' | 'came' | 'before'>): string {
  const subscriber = subscriberOf(id);
  return `${place}: ${kind} of ${resource}${subscriber && `, subscriber ${subscriber}`}`;
}

/**
 * The same events, expecting what came. A line keeps to the members that it has; one without expectations has all of them,
 * with the state and the reminders at the last event of each media or channel.
 */
export function updated(events: readonly RecordedEvent[], ends: Endings): RecordedEvent[] {
  const all = Map.groupBy(eventsOf(events, ends), ({ place }) => place);
  return events.map((event) => {
    const came = (all.get(event.place) ?? []).filter(({ id }) => ends.has(id));
    const expected = came.map(({ id, isLast, expect }) => {
      const { state, reminders, ...end } = ends.get(id) ?? {};
      const left = Object.keys(reminders ?? {}).length > 0 ? { state, reminders } : { state };
      const usual = isLast ? { ...end, ...left } : end;
      const names = namesOf(expect === NO_EVENT ? usual : (expect ?? usual));
      return [subscriberOf(id), picked({ ...end, state, reminders }, names)] as const;
    });
    const { '': own, ...subscribers } = Object.fromEntries(expected);
    const isTold = event.expect ? event.expect.subscribers : expected.length > 1;
    const expect = { ...own, ...(isTold && { subscribers }) };
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
  const latest = new Map(found.map((difference) => [`${difference.place} ${difference.id}`, difference]));
  const failures = Map.groupBy(latest.values(), ({ place }) => place);
  return events.map((event) => {
    return { title: titleOf(event) + suffix, failure: failures.get(event.place)?.map(told).join('\n') };
  });
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
