import type { Command } from 'commander';
import { keptAlive, systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import type { Config } from '../config.ts';
import { handlersFile, loadDefinition } from '../dispatch/load-handlers.ts';
import type { OnceOptions } from '../dispatch/once.ts';
import { runHandler, type Start } from '../dispatch/run-handler.ts';
import { appsOf, lackingKinds } from '../dispatch/subscribers.ts';
import { checkApp, checkTypes } from '../examination.ts';
import { kindNames } from '../notification/kinds.ts';
import { readBody } from '../replay/compose.ts';
import type { Queue } from '../store/event-store.ts';
import { withReader } from '../store/open.ts';
import { stateJson } from '../store/queue/lists/event-json.ts';
import { type EventId, lineOf, ofSubscriber } from '../store/stored.ts';
import { toVerified } from '../store/verified.ts';
import { requiredEvent } from './events/list-and-show.ts';
import { watchLoop } from './loop-watch.ts';
import * as options from './options.ts';
import { members, printFindings, printJson, say, table, write } from './output.ts';
import { appOf, loadingOnly, withHandlers } from './with-handlers.ts';

export function addHandlers(program: Command): void {
  const handlers = program
    .command('handlers')
    .description('List the kinds that your handlers take, check the handlers, or try one of them.');
  handlers
    .command('list', { isDefault: true })
    .description('List each kind, and whether it has a handler (the default); unknown is every other kind.')
    .option('--json', 'print a JSON array')
    .action(loadingOnly(list));
  handlers
    .command('check')
    .description('Check that the handlers load, their settings, kinds, and types (by your TypeScript).')
    .option('--strict', 'fail where a kind has no handler, which only warns otherwise')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', '\nNo handler runs. After a FAIL the exit code is 1.')
    .action(loadingOnly(check));
  addTry(handlers);
}

async function list({ json }: { json?: true }, command: Command): Promise<void> {
  const apps = appsOf(await loadDefinition(options.configOf(command), say));
  const all = [...kindNames, 'unknown' as const].map((kind) => {
    const takers = apps.flatMap(({ subscriber, handlers }) => (handlers[kind] ? subscriber : []));
    return { kind, handler: takers.includes(''), subscribers: takers.filter(Boolean) };
  });
  if (json) return printJson(all);
  const names = apps.slice(1).map(({ subscriber }) => subscriber);
  const rows = all.map(({ kind, handler, subscribers }) => {
    const cells = names.map((name) => (subscribers.includes(name) ? 'yes' : 'none'));
    return [kind, handler ? 'yes' : 'none: ends as skipped', ...cells];
  });
  await write(table(['kind', 'handler', ...names], rows));
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
  const advice = `What you do not need, skip on purpose: ${missing[0]}: () => skip('not needed here')`;
  yield missing.length === 0
    ? finding.ok('every kind has a handler')
    : finding[ifMissing](`no handler for ${missing.join(', ')}. ${advice}`);
  yield await checkTypes(handlersFile(config));
}

type Switches = Partial<Record<'replay' | 'late' | 'resetSteps' | 'json', true>>;
type Flags = options.BodyFlags & Switches & { attempt: number; subscriber?: string };

const HELP = `
Nothing is recorded; but what the handler does to other systems is real.
Exits with 0 if the handler returned nothing, skip() or retry(), and with 1 if it failed, or did
not let the event loop go on for 5 s.`;

function addTry(handlers: Command): void {
  const command = handlers
    .command('try')
    .description('Try the handler for one event once, in this process. Nothing is recorded.')
    .argument('[id]', 'of a stored event; without it, the options compose a notification', options.idOfEvent);
  options
    .withBody(command, 'webhook_id (default: webhook1)')
    .option('--subscriber <name>', 'the handler of this one (default: main)', options.subscriber)
    .option('--attempt <n>', 'the value of ctx.attempt', options.wholeNumber(1), 1)
    .option('--replay', 'make ctx.replay true')
    .option('--late', 'make ctx.late true')
    .option('--reset-steps', 'run every step of ctx.once, even if its result is stored')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action(tryHandler);
}

async function tryHandler(id: string | undefined, flags: Flags, command: Command): Promise<void> {
  const config = options.configOf(command);
  const { attempt, replay, late = false } = flags;
  const circumstances = { starts: attempt, replays: replay ? 1 : 0, late, lease: '', reminders: [] };
  if (id === undefined) {
    const read = readBody(await options.bodyOf(flags));
    if (read.problem !== undefined)
      throw new KitError('INPUT_INVALID', `a receiver refuses this body with 400 (${read.problem})`);
    const received = { ...toVerified(read.value, read.text), receivedAt: systemClock.now(), seq: 0 };
    const subscriber = options.subscriberNamed(flags.subscriber);
    const id = ofSubscriber(received.id, subscriber) as EventId;
    return tell(
      await tryEvent(
        { ...received, ...circumstances, id, subscriber, origin: 'notification', state: [] },
        config,
      ),
      flags,
    );
  }
  if ([flags.kind, flags.body, flags.subscriber].some((given) => given !== undefined))
    throw new KitError('INPUT_INVALID', 'give either the id of an event, or the options of a notification');
  await withReader(config, async (store) => {
    const { body, ...event } = await requiredEvent(store, id);
    if (body === undefined)
      throw new KitError('EVENT_UNKNOWN', `the body of event ${id} was removed by retention or events prune`);
    const state = await store.queue.state(event);
    const stored = flags.resetSteps ? undefined : store.queue;
    await tell(await tryEvent({ ...event, ...circumstances, body, state }, config, stored), flags);
  });
}

/** Runs the handler for an event once, as the dispatcher does, and stores nothing. @param stored has the results of steps */
async function tryEvent(event: Start['claim'], config: Config, stored?: Pick<Queue, 'step'>) {
  const steps = new Map<string, { readonly result: string | null; readonly ran: boolean }>();
  const queue: OnceOptions['store']['queue'] = {
    async step(asked) {
      const { name } = asked;
      const before = steps.has(name) ? undefined : await stored?.step(asked);
      if (before?.done) steps.set(name, { ...before.done, ran: false });
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
  const { type: outcome, state: changes = [] } = run;
  const reason = 'reason' in run ? run.reason : null;
  const after_ms = run.type === 'retry' ? (run.after ?? null) : null;
  const called = [...steps].map(([name, { ran }]) => ({ name, ran }));
  const set = stateJson(changes.flatMap(({ name, value }) => (value === null ? [] : { name, value })));
  const deleted = changes.filter(({ value }) => value === null).map(({ name }) => name);
  const state = { set, deleted };
  return { id, kind, resource, outcome, reason, after_ms, duration_ms, steps: called, state };
}

/** Tells how the trial run of a handler ended. @throws KitError CHECK_FAILED */
async function tell(trial: Awaited<ReturnType<typeof tryEvent>>, { json }: Flags): Promise<void> {
  await (json ? printJson(trial) : write(members(trial)));
  if (!['handled', 'skip', 'retry'].includes(trial.outcome))
    throw new KitError('CHECK_FAILED', 'the handler did not succeed');
}
