import type { Command } from 'commander';
import { keptAlive, systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import { nextOf } from '../base/schedule.ts';
import type { Config } from '../config.ts';
import { type DefinedApp, specOf } from '../dispatch/handler.ts';
import { handlersFile, loadDefinition } from '../dispatch/load-handlers.ts';
import type { OnceOptions } from '../dispatch/once.ts';
import { runHandler, type Start } from '../dispatch/run-handler.ts';
import { appsOf, lackingKinds, slotsOf } from '../dispatch/subscribers.ts';
import { checkApp, checkTypes } from '../examination.ts';
import { kindNames } from '../notification/kinds.ts';
import { readBody } from '../replay/compose.ts';
import { eventElsewhere } from '../replay/event-elsewhere.ts';
import type { DoneStep, Queue, ReminderChange, StoreReader } from '../store/event-store.ts';
import { withReader } from '../store/open.ts';
import { iso, isoOrNull, stateJson } from '../store/queue/lists/event-json.ts';
import { type EventId, lineOf, ofSubscriber, toVerified } from '../store/stored.ts';
import { requiredEvent } from './events/list-and-show.ts';
import { readSecret } from './input.ts';
import { watchLoop } from './loop-watch.ts';
import * as options from './options.ts';
import { members, printFindings, printResult, say, table } from './output.ts';
import { appOf, loadingOnly, withHandlers } from './with-handlers.ts';

export function addHandlers(program: Command): void {
  const handlers = program
    .command('handlers')
    .description('List the kinds that your handlers take, check the handlers, or try one of them.');
  handlers
    .command('list', { isDefault: true })
    .description('List each kind and schedule, and whether it has a handler (the default).')
    .action(loadingOnly(list));
  handlers
    .command('check')
    .description('Check that the handlers load, and their settings, kinds and types (with your TypeScript).')
    .option('--strict', 'fail if a kind has no handler, instead of a warning')
    .addHelpText('after', '\nNo handler runs. After a FAIL the exit code is 1.')
    .action(loadingOnly(check));
  addTry(handlers);
}

async function list({ json }: { json?: true }, command: Command): Promise<void> {
  const app = await loadDefinition(options.configOf(command), say);
  const apps = appsOf(app);
  const schedules = timesOf(app);
  const all = [...kindNames, 'unknown', 'reminder', ...schedules.keys()].map((kind) => {
    const takers = apps.flatMap((one) => (slotsOf(one.handlers).includes(kind) ? one.subscriber : []));
    const times = schedules.get(kind);
    return { kind, handler: takers.includes(''), subscribers: takers.filter(Boolean), ...times };
  });
  const rows = all.map(({ kind, handler, subscribers, times, next_at }) => {
    const has = times ? `${times}, next ${next_at}` : 'yes';
    return [kind, handler ? has : 'none: ends as skipped', subscribers.join(', ')];
  });
  await printResult(json, all, table(['kind', 'handler', 'subscribers'], rows));
}

/** By its slot, when each schedule of an app comes, and when next by the clock of this machine. */
function timesOf({ schedule = {} }: DefinedApp) {
  return new Map(
    Object.entries(schedule).map(([name, one]) => {
      const times = 'every' in one ? `every ${one.every}` : `${one.cron} ${one.zone ?? 'UTC'}`;
      return [`schedule:${name}`, { times, next_at: isoOrNull(nextOf(specOf(one), systemClock.now())) }];
    }),
  );
}

function check(flags: { strict?: true; json?: true }, command: Command): Promise<void> {
  const config = options.configOf(command);
  return printFindings(checkHandlers(config, flags.strict ? 'fail' : 'warn'), flags);
}

/** All checks of the handlers, one after another. A problem is a finding, never an error. */
async function* checkHandlers(config: Config, ifMissing: 'fail' | 'warn'): AsyncGenerator<Finding> {
  const loaded = yield* checkApp(config, say);
  if (!loaded) return yield findingsOf('everything else').skipped('it needs handlers that load');
  const finding = findingsOf('kinds');
  const missing = lackingKinds(loaded);
  const advice = `To skip one on purpose: ${missing[0]}: () => skip('not needed here')`;
  yield missing.length === 0
    ? finding.ok('every kind has a handler')
    : finding[ifMissing](`no handler for ${missing.join(', ')}. ${advice}`);
  for (const [slot, { times, next_at }] of timesOf(loaded))
    yield findingsOf(slot).ok(`${times}, next ${next_at}`);
  yield await checkTypes(handlersFile(config));
}

type Switches = Partial<Record<'replay' | 'late' | 'resetSteps' | 'json', true>>;
type Texts = Partial<Record<'subscriber' | 'tokenFile', string>>;
type Flags = options.BodyFlags & Switches & Texts & { attempt: number; from?: URL; inspect?: number };

function addTry(handlers: Command): void {
  const command = handlers
    .command('try')
    .description('Try a handler once, here. Nothing is recorded, but its calls to other systems are real.')
    .argument('[id]', 'a stored event; without it, the options compose a notification', options.idOfEvent);
  options
    .withBody(command, 'webhook_id (default: webhook1)')
    .option('--subscriber <name>', 'try the handler of this subscriber (default: main)', options.subscriber)
    .option('--from <url>', 'take the event from this admin listener', options.privateAdminUrl)
    .option('--token-file <file>', 'its ADMIN_READ_TOKEN (-: stdin) instead of that of the environment')
    .addOption(options.inspectOption('wait for a debugger'))
    .option('--attempt <n>', 'the value of ctx.attempt', options.wholeNumber(1), 1)
    .option('--replay', 'make ctx.replay true')
    .option('--late', 'make ctx.late true')
    .option('--reset-steps', 'run every step of ctx.once, even if its result is stored')
    .action(tryHandler);
}

async function tryHandler(id: string | undefined, flags: Flags, command: Command): Promise<void> {
  const { attempt, replay, late = false, from, inspect, kind, body, subscriber } = flags;
  if (id !== undefined && [kind, body, subscriber].some((given) => given !== undefined))
    throw new KitError('INPUT_INVALID', 'give either the id of an event, or the options of a notification');
  if (id === undefined && from) throw new KitError('INPUT_INVALID', '--from needs the id of an event there');
  const config = options.configOf(command);
  const known = (id: string) =>
    from
      ? elsewhere(id, from, config, flags.tokenFile)
      : withReader(config, (store) => storedEvent(store, id));
  const { steps, ...event } = await (id === undefined ? composed(flags) : known(id));
  if (inspect !== undefined) (await import('node:inspector')).open(inspect, '127.0.0.1', true);
  const own = inspect === undefined ? config : { ...config, HANDLER_TIMEOUT_MS: options.DEBUGGING_MS };
  const claim = { ...event, starts: attempt, replays: replay ? 1 : 0, late, lease: '' };
  const trial = await tryEvent(claim, own, flags.resetSteps ? [] : steps);
  await printResult(flags.json, trial, members(trial));
  if (!['handled', 'skip', 'retry'].includes(trial.outcome))
    throw new KitError('CHECK_FAILED', 'the handler did not succeed');
}

/** An event as it would be recorded of what the options compose. @throws KitError INPUT_INVALID if a receiver refuses that */
async function composed(flags: Flags) {
  const read = readBody(await options.bodyOf(flags));
  if (read.problem !== undefined)
    throw new KitError('INPUT_INVALID', `a receiver refuses this body with 400 (${read.problem})`);
  const received = { ...toVerified(read.value, read.text), receivedAt: systemClock.now(), seq: 0 };
  const subscriber = options.subscriberNamed(flags.subscriber);
  const id = ofSubscriber(received.id, subscriber) as EventId;
  const facts = { origin: 'notification', repeats: undefined, state: [], reminders: [], steps: [] } as const;
  return { ...received, id, subscriber, ...facts };
}

/** An event of the database, with what is stored for its media or channel. */
async function storedEvent(store: StoreReader, id: string) {
  const { body, ...event } = await requiredEvent(store, id);
  if (body === undefined)
    throw new KitError('EVENT_UNKNOWN', `the body of event ${id} was removed by retention or events prune`);
  const reminders = (await store.queue.remindersOf(event)).map(({ name }) => name);
  const steps = await store.queue.steps({ id });
  return { ...event, body, state: await store.queue.state(event), reminders, steps };
}

/** An event of a receiver elsewhere, with what is stored there for its media or channel. */
async function elsewhere(id: string, from: URL, config: Config, tokenFile: string | undefined) {
  const ofEnvironment = config.ADMIN_READ_TOKEN ?? config.ADMIN_TOKEN;
  const token = tokenFile === undefined ? ofEnvironment : await readSecret(tokenFile);
  const event = await eventElsewhere(id, from, token);
  say('nothing is recorded there, but calls to other systems are real');
  return event;
}

/** Runs the handler for an event once, as the dispatcher does, and stores nothing. @param stored has the results of steps */
async function tryEvent(event: Start['claim'], config: Config, stored: readonly DoneStep[]) {
  const steps = new Map<string, Pick<DoneStep, 'result'> & { readonly ran: boolean }>();
  const queue: OnceOptions['store']['queue'] = {
    async step({ name }) {
      const before = steps.has(name) ? undefined : stored.find((one) => one.name === name);
      if (before) steps.set(name, { ...before, ran: false });
      return { done: steps.get(name), isHeld: true };
    },
    async saveStep({ name, result }) {
      steps.set(name, { result, ran: true });
      return { result };
    },
  };
  const insist: OnceOptions['insist'] = (ask) => ask();
  const parts = { config, store: { queue }, clock: systemClock, insist };
  // Without an event of the database, nothing needs one, unless `start` reads it.
  const states: Pick<Queue, 'state' | 'states'> = {
    state: (lane) => withReader(config, (open) => open.queue.state(lane)),
    states: (query) => withReader(config, (open) => open.queue.states(query)),
  };
  const began = systemClock.monotonic();
  const run = await withHandlers(config, { queue: states }, ({ app, log }) => {
    const watched = watchLoop(appOf(app, event.subscriber));
    const context = { ...parts, app: watched, log: log.child(lineOf(event)) };
    return keptAlive(runHandler({ claim: event, abort: new AbortController() }, context));
  });
  const duration_ms = Math.round(systemClock.monotonic() - began);
  const { id, kind, resource } = event;
  const { type: outcome, state: changes = [], reminders = [] } = run;
  const reason = 'reason' in run ? run.reason : null;
  const after_ms = run.type === 'retry' ? (run.after ?? null) : null;
  const called = [...steps].map(([name, { ran }]) => ({ name, ran }));
  const set = stateJson(changes.flatMap(({ name, value }) => (value === null ? [] : { name, value })));
  const deleted = changes.filter(({ value }) => value === null).map(({ name }) => name);
  const left = { state: { set, deleted }, reminders: reminders.map(changeJson) };
  return { id, kind, resource, outcome, reason, after_ms, duration_ms, steps: called, ...left };
}

/** The change of a reminder by a run that ends now. */
function changeJson({ name, at, afterMs, data = 'null' }: ReminderChange) {
  const dueAt = at ?? (afterMs === undefined ? undefined : systemClock.now() + afterMs);
  return dueAt === undefined
    ? { name, forgotten: true }
    : { name, due_at: iso(dueAt), data: JSON.parse(data) };
}
