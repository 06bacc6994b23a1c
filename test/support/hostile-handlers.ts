import { EventEmitter } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { eventTable } from '../../src/cli/events/event-rows.ts';
import { parseConfig } from '../../src/config.ts';
import { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import { guardProcess } from '../../src/dispatch/process-guard.ts';
import type { HandlerContext, Handlers, Outcome } from '../../src/index.ts';
import type { StoredEvent } from '../../src/store/event-store.ts';
import { attemptJson, eventJson } from '../../src/store/lists/event-json.ts';
import { openStore } from '../../src/store/open.ts';
import { eventsIn } from './events-in.ts';
import { eventually } from './eventually.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { verified } from './verified-notification.ts';

// A process of its own, as what is tested is that it lives on: handlers that return, throw, name steps, give results and
// leave errors behind, with the real dispatcher and store: first each object that does harm in each place, then what
// fast-check makes up. It exits with 0 if all is well.
const RUNS = Number(process.argv[2]);
const SEED = Number(process.argv[3]);
const MAX_ATTEMPTS = 2;
const LONGEST_TEXT = 4000;

/** How an error is left behind: once the handler is over, with nobody to catch it. */
const ways: Readonly<Record<string, (value: unknown) => void>> = {
  timer: (value) => void setTimeout(() => throws(value), 1),
  immediate: (value) => void setImmediate(() => throws(value)),
  tick: (value) => process.nextTick(() => throws(value)),
  microtask: (value) => queueMicrotask(() => throws(value)),
  promise: (value) => void Promise.reject(value),
  listener: (value) => {
    const emitter = new EventEmitter().on('done', () => throws(value));
    setImmediate(() => emitter.emit('done'));
  },
};

function throws(value: unknown): never {
  throw value;
}

interface Script {
  readonly ends: 'returns' | 'throws' | 'rejects' | 'when aborted';
  readonly value: Given;
  readonly step: { readonly name: Given; readonly result: Given } | undefined;
  readonly logs: Given;
  readonly leaves: readonly { readonly how: string; readonly value: Given }[];
}

const trap = () => {
  throw new Error('a trap');
};
const traps = Object.fromEntries(
  Reflect.ownKeys(Reflect)
    .filter((name) => typeof name === 'string')
    .map((name) => [name, trap]),
);
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const circle: Record<string, unknown> = { type: 'skip' };
circle.reason = circle;
const endless = new Error('endless');
endless.cause = new AggregateError([endless, new Error('other', { cause: endless })], 'all');

/** Objects that do harm when they are read are made where the handler wants them: fast-check itself would trip over them. */
interface Given {
  readonly name: string;
  readonly make: () => unknown;
}

const MEMBERS = [
  ...['type', 'reason', 'after', 'then', 'name', 'message', 'stack', 'code', 'cause', 'errors'],
  ...['constructor', 'toString', 'toJSON', Symbol.toStringTag, Symbol.toPrimitive],
];
const BASES: readonly (() => object)[] = [
  () => ({ type: 'skip', reason: 'r' }),
  () => ({ type: 'retry', reason: 'r' }),
  () => new Error('x'),
  () => () => {},
];
const harmful: readonly Given[] = [
  ...BASES.flatMap((base, index) =>
    MEMBERS.map((member) => ({
      name: `object ${index} whose ${String(member)} throws`,
      make: () => Object.defineProperty(base(), member, { get: trap }),
    })),
  ),
  ...Object.entries(traps).map(([name, one]) => ({
    name: `proxy of an error whose ${name} throws`,
    make: () => new Proxy({ message: 'x', code: 5, type: 'skip', reason: 'r' }, { [name]: one }),
  })),
  ...Object.entries<() => unknown>({
    function: () => () => {},
    class: () => class Own {},
    symbol: () => Symbol('s'),
    proxy: () => new Proxy({}, traps),
    'callable proxy': () => new Proxy(() => {}, traps),
    'revoked proxy': () => revoked.proxy,
    circle: () => circle,
    'endless causes': () => endless,
    'enormous error': () => new Error('x'.repeat(2_000_000)),
    'enormous text': () => 'x'.repeat(2_000_000),
    'lone surrogate': () => '\ud800',
    buffer: () => Buffer.from('bytes'),
    weak: () => new WeakMap(),
    shared: () => new SharedArrayBuffer(8),
    toJSON: () => ({ toJSON: trap }),
    'thenable that rejects': () =>
      Object.defineProperty({}, 'then', {
        value: (_: unknown, reject: (error: unknown) => void) => reject(5n),
      }),
  }).map(([name, make]) => ({ name, make })),
];

const value: fc.Arbitrary<Given> = fc.oneof(
  fc.constantFrom(...harmful),
  fc
    .anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true })
    .map((any) => ({ name: fc.stringify(any), make: () => any })),
);
const text = fc.string().map((any): Given => ({ name: any, make: () => any }));
const number = fc
  .oneof(fc.double(), fc.integer(), fc.constantFrom(0, -0, 2_592_000_000, 2_592_000_001))
  .map((any): Given => ({ name: String(any), make: () => any }));
const outcomeLike = fc
  .record(
    {
      type: fc.constantFrom('skip', 'retry', 'fail'),
      reason: fc.oneof(text, text, value),
      after: fc.oneof(number, value),
    },
    { requiredKeys: ['type'] },
  )
  .map(
    ({ type, reason, after }): Given => ({
      name: `${type} with ${reason?.name} after ${after?.name}`,
      make: () => ({ type, reason: reason?.make(), after: after?.make() }),
    }),
  );
const script: fc.Arbitrary<Script> = fc.record({
  ends: fc.constantFrom('returns', 'throws', 'rejects', 'when aborted'),
  value: fc.oneof(value, outcomeLike, outcomeLike),
  step: fc.option(fc.record({ name: fc.oneof(text, value), result: value }), { nil: undefined }),
  logs: value,
  leaves: fc.array(fc.record({ how: fc.constantFrom(...Object.keys(ways)), value }), { maxLength: 3 }),
});

const lines: string[] = [];
const log = pino(
  { level: 'error' },
  {
    write(line: string) {
      lines.push(line);
      if (line.includes('"level":60')) process.stderr.write(line);
    },
  },
);
const guard = guardProcess(log);
const directory = await temporaryDirectory();
const clock = new VirtualClock();
const store = await openStore({ url: `sqlite:${join(directory, 'receiver.db')}`, clock });
const scripts = new Map<string, Script>();
const handlers: Handlers = {
  media_available: (event, ctx) => play(scripts.get(event.media_id), ctx),
};
const dispatcher = new Dispatcher({
  config: parseConfig({
    HANDLER_TIMEOUT_MS: '1000',
    RETRY_MAX_ATTEMPTS: String(MAX_ATTEMPTS),
    RETRY_BASE_MS: '1',
  }),
  app: { handlers },
  store,
  clock,
  log,
  random: () => 0,
});

/** Does what a handler must not do. What it returns is whatever it was given, which the compiler is told to believe. */
async function play(played: Script | undefined, ctx: HandlerContext): Promise<Outcome | void> {
  if (!played) return undefined;
  for (const { how, value: left } of played.leaves) ways[how]?.(left.make());
  if (played.ends === 'when aborted')
    return new Promise((_, reject) => ctx.signal.addEventListener('abort', reject));
  try {
    ctx.log.error({ given: played.logs.make() }, 'of a handler');
  } catch {
    // what cannot be logged is an error of the handler's own, as any other that it throws
  }
  if (played.step) await ctx.once(played.step.name.make() as string, () => played.step?.result.make());
  if (played.ends === 'throws') throw played.value.make();
  if (played.ends === 'rejects') return Promise.reject(played.value.make());
  return played.value.make() as Outcome;
}

function isOver({ status, starts, attempts }: StoredEvent): boolean {
  if (status === 'handled' || status === 'skipped' || status === 'dead') return true;
  return status === 'pending' && starts > attempts; // it asked to come back, which uses up no attempt
}

async function untilOver(ids: readonly string[]): Promise<readonly StoredEvent[]> {
  let events: readonly StoredEvent[] = [];
  dispatcher.wake();
  await eventually('every event is over', async () => {
    await clock.advance(500);
    events = await eventsIn(store, { ids });
    return events.every(isOver);
  });
  return events;
}

function check(isTrue: boolean, what: string, event?: StoredEvent): void {
  if (!isTrue) throw new Error(`${what}: ${event && JSON.stringify(eventJson(event))}`);
}

let runs = 0;
let scriptsPlayed = 0;
async function survives(played: readonly Script[]): Promise<void> {
  lines.length = 0;
  runs++;
  const names = played.map((one) => {
    const name = `media-${++scriptsPlayed}`;
    scripts.set(name, one);
    return name;
  });
  const ids = await Promise.all(
    names.map(async (media_id) => (await store.record(verified({ media_id }))).id),
  );
  const events = await untilOver(ids);

  for (const event of events) {
    const attempts = await store.attempts(event.id);
    check(JSON.stringify([eventJson(event), attempts.map(attemptJson)]).length > 0, 'it can be shown', event);
    const texts = [event.lastError, ...attempts.map(({ error }) => error)];
    check(
      texts.every((text) => text === undefined || text.length <= LONGEST_TEXT),
      'no text is too long',
      event,
    );
    const counted = attempts.filter(({ outcome }) => outcome !== 'retry').length;
    check(attempts.length >= 1 && counted <= MAX_ATTEMPTS, 'it ended by its own attempts', event);
    check(
      attempts.every(({ outcome }) => outcome !== 'lost' && outcome !== 'interrupted'),
      'none was lost',
      event,
    );
  }
  check(eventTable(events).length > 0, 'the list can be shown');
  check((await store.search({}, { limit: 50, reach: 50 })).events.length > 0, 'found');

  // Each of its errors was told of, with the event that left it.
  const expected = new Map<string, number>();
  for (const [index, event] of events
    .toSorted((a, b) => names.indexOf(mediaOf(a)) - names.indexOf(mediaOf(b)))
    .entries()) {
    expected.set(event.id, event.starts * (played[index]?.leaves.length ?? 0));
  }
  const pending = new Set<string>(events.filter(({ status }) => status === 'pending').map(({ id }) => id));
  await eventually(`every error left behind is told of: ${JSON.stringify([...expected])}`, () => {
    const left = leftBehind();
    return [...expected].every(([id, count]) => {
      const told = left.filter((event) => event === id).length;
      return pending.has(id) ? told >= count : told === count; // what asked to come back may have run again
    });
  });

  // No lane is blocked.
  for (const name of names) scripts.delete(name);
  const followers = await Promise.all(
    names.map(async (media_id) => (await store.record(verified({ media_id, at: Date.UTC(2026, 0, 2) }))).id),
  );
  for (const event of await untilOver(followers))
    check(event.status === 'handled', 'its lane is free', event);
}

function mediaOf({ resource }: StoredEvent): string {
  return resource.slice('media:'.length);
}

function leftBehind(): unknown[] {
  return lines
    .map((line): { readonly msg?: string; readonly event?: string } => JSON.parse(line))
    .filter(({ msg }) => msg === 'a handler left an error behind')
    .map(({ event }) => event);
}

const nothing: Given = { name: 'nothing', make: () => undefined };
const ordinary: Script = { ends: 'returns', value: nothing, step: undefined, logs: nothing, leaves: [] };
const inOutcome = (type: string, member: string, given: Given): Given => ({
  name: `${type} with ${given.name} as its ${member}`,
  make: () => ({ type, [member]: given.make() }),
});
const wayNames = Object.keys(ways);

/** An object that does harm, in every place where a handler can put it. */
function inEveryPlace(given: Given, index: number): readonly Script[] {
  const how = wayNames[index % wayNames.length] ?? 'promise';
  return [
    { ...ordinary, value: given },
    { ...ordinary, ends: 'throws', value: given },
    { ...ordinary, ends: 'rejects', value: given },
    { ...ordinary, value: inOutcome('skip', 'reason', given) },
    { ...ordinary, value: inOutcome('fail', 'reason', given) },
    { ...ordinary, value: inOutcome('retry', 'after', given) },
    { ...ordinary, step: { name: given, result: nothing } },
    { ...ordinary, step: { name: { name: 'a step', make: () => 'a step' }, result: given } },
    { ...ordinary, logs: given },
    { ...ordinary, leaves: [{ how, value: given }] },
  ];
}

const TOGETHER = 50;

dispatcher.start();
const every = harmful.flatMap(inEveryPlace);
for (let first = 0; first < every.length; first += TOGETHER)
  await survives(every.slice(first, first + TOGETHER));
runs = 0; // those of fast-check are counted
await fc.assert(fc.asyncProperty(fc.array(script, { minLength: 1, maxLength: 8 }), survives), {
  numRuns: RUNS,
  seed: SEED,
  endOnFailure: true,
});
await dispatcher.stop(0);
await store.close();
guard.expectExit();
rmSync(directory, { recursive: true });
process.stdout.write(`${every.length} scripts, ${runs} runs\n`);
