import { pino } from 'pino';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { parseConfig } from '../../src/config.ts';
import { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import { guardProcess } from '../../src/dispatch/process-guard.ts';
import type { HandlerContext, Handlers, Outcome } from '../../src/index.ts';
import { openStore } from '../../src/store/open.ts';
import { eventsIn } from './events-in.ts';
import { eventually } from './eventually.ts';
import { EVENT_TIME, verified } from './verified-notification.ts';

// A process of its own, as what is tested is that it lives on: handlers put each object that does harm into each place, with the real
// dispatcher and store. It exits with 0 if all is well.
const MAX_ATTEMPTS = 2;

const trap = () => {
  throw new Error('a trap');
};
const traps = Object.fromEntries(Object.getOwnPropertyNames(Reflect).map((name) => [name, trap]));
const circle: Record<string, unknown> = { type: 'skip' };
circle.reason = circle;
const endless = new Error('endless');
endless.cause = new AggregateError([endless], 'all');
const trapped = (base: object, members: string) =>
  members
    .split(' ')
    .map((member) => () => Object.defineProperty(structuredClone(base), member, { get: trap }));
const plain = [undefined, Symbol('s'), 5n, trap, circle, endless, '\ud800', 'x'.repeat(2_000_000)];

/** What makes each object that does harm. */
const harmful: readonly (() => unknown)[] = [
  ...trapped({ type: 'skip', reason: 'r' }, 'type reason after then toJSON'),
  ...trapped(new Error('x'), 'name message stack code cause errors constructor toString'),
  ...plain.map((one) => () => one),
  () => Object.defineProperty({ type: 'skip', reason: 'r' }, Symbol.toPrimitive, { get: trap }),
  () => new Proxy({}, traps),
  () => new Proxy(() => {}, traps),
  () => new Error('x'.repeat(2_000_000)),
  () => ({ toJSON: trap }),
];

type Make = () => unknown;

function raise(value: unknown): never {
  throw value;
}

/** The places into which a handler can put an object. What it returns is what the compiler is told to believe. */
const places: readonly ((make: Make, ctx: HandlerContext) => unknown)[] = [
  (make) => make(),
  (make) => raise(make()),
  (make) => Promise.reject(make()),
  (make) => ({ type: 'skip', reason: make() }),
  (make) => ({ type: 'retry', reason: 'r', after: make() }),
  (make, ctx) => ctx.once('a step', make),
  (make, ctx) => ctx.state.set('a', make() as string),
  (make, ctx) => ctx.log.error({ given: make() }, 'of a handler'),
  (make) => void setTimeout(() => raise(make()), 1),
  (make) => void Promise.reject(make()),
];

const fatal: string[] = [];
const log = pino({ level: 'fatal' }, { write: (line: string) => void fatal.push(line) });
const guard = guardProcess(log);
const clock = new VirtualClock();
const store = await openStore({ DATABASE_URL: 'sqlite::memory:', clock });
const scripts = new Map<string, (ctx: HandlerContext) => unknown>();
const handlers: Handlers = {
  media_available: async (event, ctx) => (await scripts.get(event.media_id)?.(ctx)) as Outcome,
  media_updated() {},
};
const config = parseConfig({ RETRY_MAX_ATTEMPTS: `${MAX_ATTEMPTS}`, RETRY_BASE_MS: '1' });
const dispatcher = new Dispatcher({ config, app: { handlers }, store, clock, log, random: () => 0 });

const all = harmful.flatMap((make) => places.map((place) => (ctx: HandlerContext) => place(make, ctx)));
for (const [index, script] of all.entries()) {
  const media_id = `media-${index}`;
  scripts.set(media_id, script);
  await store.queue.record(verified({ media_id }));
  await store.queue.record(verified({ media_id, event: 'media_updated', at: EVENT_TIME + 1000 }));
}

async function checkAll(): Promise<void> {
  await eventually('every event has ended, or asked to come back', async () => {
    await clock.advance(500);
    const pending = await eventsIn(store, { status: 'pending' }, all.length);
    const { running } = await store.reports.overview();
    return running === 0 && pending.every(({ starts, attempts }) => starts > attempts);
  });
  const events = await eventsIn(store, {}, 2 * all.length);
  for (const event of events) {
    const attempts = await store.queue.attempts({ id: event.id });
    const isWell =
      attempts.every(({ error = '' }) => error.length <= 4000) &&
      attempts.every(({ outcome }) => outcome !== 'lost' && outcome !== 'interrupted') &&
      attempts.filter(({ outcome }) => outcome !== 'retry').length <= MAX_ATTEMPTS &&
      (event.kind === 'media_available' || event.status === 'handled'); // its lane is free
    if (!isWell) throw new Error(`an event has not ended by its own attempts: ${JSON.stringify(event)}`);
  }
  if (events.length !== 2 * all.length) throw new Error(`${events.length} events of ${2 * all.length}`);
  if (fatal.length > 0) throw new Error(fatal.join());
}

dispatcher.start();
await checkAll().catch((error) => {
  process.stderr.write(String(error)); // the guard would take it for an error that a handler left behind
  guard.expectExit();
  process.exit(1);
});
await dispatcher.stop(0);
await store.close();
guard.expectExit();
process.stdout.write(`${all.length} handlers\n`);
