import { Command } from 'commander';
import type { Logger } from 'pino';
import { systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { keptAlive } from '../../base/pause.ts';
import { type Config, loadConfig } from '../../config.ts';
import { loadApp } from '../../dispatch/load-handlers.ts';
import type { OnceOptions } from '../../dispatch/once.ts';
import { openApp } from '../../dispatch/open-app.ts';
import { type Assignment, type Run, type RunningApp, runHandler } from '../../dispatch/run-handler.ts';
import { readBody } from '../../replay/compose.ts';
import type { EventStore, StateChange } from '../../store/event-store.ts';
import { stateJson } from '../../store/lists/event-json.ts';
import { toVerified } from '../../store/verified.ts';
import { withDatabase } from '../../store/with-store.ts';
import { addBodyOptions, type BodyFlags, bodyOf } from '../events/body-options.ts';
import { checkEventId, eventOf } from '../events/open-database.ts';
import { handlersHere } from '../handlers-here.ts';
import { interruptible } from '../interruptible.ts';
import { atLeastOne } from '../option-values.ts';
import { line, print, printJson } from '../print.ts';
import { stderrLog } from '../stderr-log.ts';

interface Flags extends BodyFlags {
  readonly attempt: number;
  readonly replay?: true;
  readonly late?: true;
  readonly resetSteps?: true;
  readonly json?: true;
}

const EXAMPLES = `
Nothing is recorded: no attempt, no step of ctx.once, no change of ctx.state, no status. But what the handler does to other
systems is real. A step that a stored event has already done returns its stored result, unless --reset-steps is given. The
handler of a stored event reads the stored state of its media or channel.

Exits with 0 if the handler returned nothing, skip() or retry(), and with 1 if it failed.

Examples:
  npx hookkit handlers try --kind media_available --media UUhbHm6C
  npx hookkit handlers try --kind channel_idle --channel Ny05CEfj --late
  npx hookkit handlers try loyw3uqg-0123456789abcdef0123 --reset-steps
  npx hookkit handlers try --body notification.json --json`;

export function tryCommand(): Command {
  const command = new Command('try')
    .description('Try the handler for one event once, in this process. Nothing is recorded.')
    .argument('[id]', 'the id of a stored event; without it, the options compose a notification');
  return addBodyOptions(command, 'webhook_id (default: webhook1)')
    .option('--attempt <n>', 'the value of ctx.attempt', atLeastOne, 1)
    .option('--replay', 'make ctx.replay true')
    .option('--late', 'make ctx.late true')
    .option('--reset-steps', 'run every step of ctx.once, even if its result is stored')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(tryHandler);
}

async function tryHandler(id: string | undefined, flags: Flags): Promise<void> {
  const config = loadConfig();
  if (id === undefined) return tryEvent(await madeUp(flags), flags, config);
  if (flags.kind !== undefined || flags.body !== undefined)
    throw new KitError('INPUT_INVALID', 'give either the id of an event, or the options of a notification');
  checkEventId(id);
  await withDatabase(config, async (store) =>
    tryEvent(await stored(id, flags, store), flags, config, flags.resetSteps ? undefined : store),
  );
}

async function madeUp(flags: Flags): Promise<Assignment> {
  const read = readBody(await bodyOf(flags));
  if (read.problem !== undefined)
    throw new KitError('INPUT_INVALID', `a receiver refuses this body with 400 (${read.problem})`);
  const event = toVerified(read.value, read.text);
  return { ...event, ...circumstances(flags), ...NO_LEASE, receivedAt: systemClock.now(), state: [] };
}

async function stored(id: string, flags: Flags, store: EventStore): Promise<Assignment> {
  const event = await eventOf(store, id);
  const { body } = event;
  if (body === undefined)
    throw new KitError('EVENT_UNKNOWN', `the body of event ${id} was removed by retention or events prune`);
  return { ...event, ...circumstances(flags), lease: '', body, state: await store.state(event.resource) };
}

const NO_LEASE = { lease: '', seq: 0 };

function circumstances({ attempt, replay, late }: Flags) {
  return { starts: attempt, replays: replay ? 1 : 0, late: late === true };
}

async function tryEvent(
  event: Assignment,
  { json }: Flags,
  config: Config,
  store?: Pick<EventStore, 'step'>,
): Promise<void> {
  const log = stderrLog(config);
  using _ = handlersHere(log);
  const app = await loadApp(config);
  const opened = await openApp(app, { config, log });
  const trial = await interruptible('nothing was recorded', async (signal) => {
    const ended = await tried(event, { signal, config, store, log, app: opened });
    signal.throwIfAborted();
    return ended;
  }).finally(() => opened.close());
  await (json ? printJson(asJson(event, trial)) : print(describe(event, trial)));
  if (!ENDS[trial.run.type].isFine) throw new KitError('HANDLER_FAILED', 'the handler did not succeed');
}

/** How the trial run of a handler ended. */
interface Trial {
  readonly run: Run;
  readonly ms: number;
  /** in the order in which the handler called them */
  readonly steps: readonly { readonly name: string; readonly ran: boolean; readonly times: number }[];
  /** what the dispatcher would store of `ctx.state` */
  readonly state: readonly StateChange[];
}

interface Trying {
  readonly app: RunningApp;
  readonly config: Config;
  readonly log: Logger;
  readonly store: Pick<EventStore, 'step'> | undefined;
  readonly signal: AbortSignal;
}

/** Runs the handler for an event once, as the dispatcher does, and stores nothing. */
async function tried(event: Assignment, { app, config, log, store, signal }: Trying): Promise<Trial> {
  const results = new Map<string, { readonly result: string | null; readonly ran: boolean }>();
  const asked: string[] = [];
  const steps: OnceOptions['store'] = {
    async step(key, name) {
      asked.push(name);
      const before = results.has(name) ? undefined : await store?.step(key, name);
      if (before) results.set(name, { ...before, ran: false });
      return results.get(name);
    },
    holds: async () => true,
    async saveStep(_key, { name, result }) {
      results.set(name, { result, ran: true });
      return { result };
    },
  };
  const abort = new AbortController();
  signal.addEventListener('abort', () => abort.abort(signal.reason));
  const began = systemClock.monotonic();
  const running = () =>
    runHandler(event, abort, {
      config,
      app,
      store: steps,
      clock: systemClock,
      log,
    });
  const { state = [], ...run } = await keptAlive(running);
  const ms = Math.round(systemClock.monotonic() - began);
  const times = (name: string) => asked.filter((one) => one === name).length;
  return {
    run,
    ms,
    steps: [...results].map(([name, { ran }]) => ({ name, ran, times: times(name) })),
    state,
  };
}

/** The words for each end of a run: what would happen to the event. */
const ENDS: Readonly<Record<Run['type'], { readonly words: string; readonly isFine: boolean }>> = {
  handled: { words: 'handled', isFine: true },
  skip: { words: 'skipped', isFine: true },
  retry: { words: 'to run again', isFine: true },
  fail: { words: 'failed for good', isFine: false },
  dead: { words: 'failed for good', isFine: false },
  error: { words: 'failed, to run again', isFine: false },
  timeout: { words: 'timed out, to run again', isFine: false },
};

function asJson({ id, kind, resource }: Assignment, { run, ms, steps, state }: Trial) {
  const reason = 'reason' in run ? run.reason : null;
  const after_ms = run.type === 'retry' ? (run.after ?? null) : null;
  const deleted = state.filter(({ value }) => value === null).map(({ name }) => name);
  const changes = { set: stateJson(state.filter(isSet)), deleted };
  return { id, kind, resource, outcome: run.type, reason, after_ms, duration_ms: ms, steps, state: changes };
}

function isSet(change: StateChange): change is StateChange & { readonly value: string } {
  return change.value !== null;
}

function describe({ id, kind, resource }: Assignment, { run, ms, steps, state }: Trial): string {
  const after = run.type === 'retry' && run.after !== undefined ? ` after ${run.after} ms` : '';
  const reason = 'reason' in run ? `: ${run.reason.split('\n').map(line).join('\n')}` : '';
  return [
    `${line(kind)} of ${line(resource)}, event ${id}`,
    ...steps.map(
      ({ name, ran, times }) =>
        `step ${line(name)}: ${ran ? 'ran' : 'its stored result was used'}${times > 1 ? `, and came ${times} times: give each step a name of its own` : ''}`,
    ),
    ...state.map(
      ({ name, value }) =>
        `state ${line(name)}: ${value === null ? 'would be deleted' : `would be ${line(value)}`}`,
    ),
    `${ENDS[run.type].words}${after} (${ms} ms)${reason}`,
  ].join('\n');
}
