import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { parseConfig } from '../../src/config.ts';
import { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import { guardProcess } from '../../src/dispatch/process-guard.ts';
import type { HandlerContext, Handlers, Outcome } from '../../src/index.ts';
import { attemptJson, eventJson } from '../../src/store/lists/event-json.ts';
import { openStore } from '../../src/store/open.ts';
import { eventsIn } from './events-in.ts';
import { eventually } from './eventually.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { EVENT_TIME, verified } from './verified-notification.ts';

// A process of its own, as what is tested is that it lives on: handlers put each object that does harm into each place, with the real
// dispatcher and store. It exits with 0 if all is well.
const MAX_ATTEMPTS = 2;
const LONGEST_TEXT = 4000;

const trap = () => {
  throw new Error('a trap');
};
const reflected = Reflect.ownKeys(Reflect).filter((name) => typeof name === 'string');
const traps = Object.fromEntries(reflected.map((name) => [name, trap]));
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const circle: Record<string, unknown> = { type: 'skip' };
circle.reason = circle;
const endless = new Error('endless');
endless.cause = new AggregateError([endless, new Error('other', { cause: endless })], 'all');

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
/** What makes each object that does harm. */
const harmful: readonly (() => unknown)[] = [
  ...BASES.flatMap((base) =>
    MEMBERS.map((member) => () => Object.defineProperty(base(), member, { get: trap })),
  ),
  ...reflected.map(
    (name) => () => new Proxy({ message: 'x', code: 5, type: 'skip', reason: 'r' }, { [name]: trap }),
  ),
  () => () => {},
  () => Symbol('s'),
  () => 5n,
  () => new Proxy({}, traps),
  () => new Proxy(() => {}, traps),
  () => revoked.proxy,
  () => circle,
  () => endless,
  () => new Error('x'.repeat(2_000_000)),
  () => 'x'.repeat(2_000_000),
  () => '\ud800',
  () => new WeakMap(),
  () => new SharedArrayBuffer(8),
  () => ({ toJSON: trap }),
  () =>
    Object.defineProperty({}, 'then', {
      value: (_: unknown, reject: (error: unknown) => void) => reject(5n),
    }),
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
  (make) => ({ type: 'fail', reason: make() }),
  (make) => ({ type: 'retry', reason: 'r', after: make() }),
  (make, ctx) => ctx.once(make() as string, () => undefined),
  (make, ctx) => ctx.once('a step', make),
  (make, ctx) => ctx.state.set('a', make() as string),
  (make, ctx) => ctx.log.error({ given: make() }, 'of a handler'),
  (make) => void setTimeout(() => raise(make()), 1),
  (make) => process.nextTick(() => raise(make())),
  (make) => void Promise.reject(make()),
  (make, ctx) =>
    new Promise((_, reject) => {
      ctx.signal.addEventListener('abort', reject);
      ctx.signal.addEventListener('abort', () => raise(make()));
    }),
];

let fatal = '';
const write = (line: string) => {
  fatal += line;
};
const log = pino({ level: 'fatal' }, { write });
const guard = guardProcess(log);
const directory = await temporaryDirectory();
const clock = new VirtualClock();
const store = await openStore({ url: `sqlite:${join(directory, 'receiver.db')}`, clock });
const scripts = new Map<string, (ctx: HandlerContext) => unknown>();
const handlers: Handlers = {
  media_available: async (event, ctx) => (await scripts.get(event.media_id)?.(ctx)) as Outcome,
  media_updated() {},
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

const all = harmful.flatMap((make) => places.map((place) => (ctx: HandlerContext) => place(make, ctx)));
for (const [index, script] of all.entries()) {
  const media_id = `media-${index}`;
  scripts.set(media_id, script);
  await store.record(verified({ media_id }));
  await store.record(verified({ media_id, event: 'media_updated', at: EVENT_TIME + 1000 }));
}
async function checkAll(): Promise<void> {
  await eventually('every event has ended, or asked to come back', async () => {
    await clock.advance(500);
    const pending = await eventsIn(store, { status: 'pending' }, all.length);
    const { running } = await store.overview();
    return running === 0 && pending.every(({ starts, attempts }) => starts > attempts);
  });
  const events = await eventsIn(store, {}, 2 * all.length);
  for (const event of events) {
    const attempts = await store.attempts(event.id);
    const shown = JSON.stringify([eventJson(event), attempts.map(attemptJson)]);
    const texts = [event.lastError, ...attempts.map(({ error }) => error)];
    const counted = attempts.filter(({ outcome }) => outcome !== 'retry').length;
    const isWell =
      texts.every((text) => text === undefined || text.length <= LONGEST_TEXT) &&
      attempts.every(({ outcome }) => outcome !== 'lost' && outcome !== 'interrupted') &&
      counted <= MAX_ATTEMPTS &&
      (event.kind === 'media_available' || event.status === 'handled'); // its lane is free
    if (!isWell) throw new Error(`an event has not ended by its own attempts: ${shown}`);
  }
  if (events.length !== 2 * all.length) throw new Error(`${events.length} events of ${2 * all.length}`);
  if (fatal !== '') throw new Error(fatal);
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
rmSync(directory, { recursive: true });
process.stdout.write(`${all.length} handlers\n`);
