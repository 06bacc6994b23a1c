import type { Command } from 'commander';
import { keptAlive, systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { type Config, loadConfig } from '../../config.ts';
import type { OnceOptions } from '../../dispatch/once.ts';
import { type Assignment, type Run, runHandler } from '../../dispatch/run-handler.ts';
import { readBody } from '../../replay/compose.ts';
import type { EventStore } from '../../store/event-store.ts';
import { stateJson } from '../../store/lists/event-json.ts';
import { withDatabase } from '../../store/open.ts';
import { toVerified } from '../../store/verified.ts';
import { eventOf } from '../events/list-and-show.ts';
import { interruptible } from '../interruptible.ts';
import { type BodyFlags, bodyOf, withBody } from '../notification-options.ts';
import { eventId, wholeNumber } from '../options.ts';
import { line, print, printJson } from '../output.ts';
import { withHandlers } from '../with-handlers.ts';

interface Flags extends BodyFlags {
  readonly attempt: number;
  readonly replay?: true;
  readonly late?: true;
  readonly resetSteps?: true;
  readonly json?: true;
}

const HELP = `
Nothing is recorded; but what the handler does to other systems is real.
Exits with 0 if the handler returned nothing, skip() or retry(), and with 1 if it failed.`;

export function addTry(handlers: Command): void {
  const command = handlers
    .command('try')
    .description('Try the handler for one event once, in this process. Nothing is recorded.')
    .argument('[id]', 'the id of a stored event; without it, the options compose a notification', eventId);
  withBody(command, 'webhook_id (default: webhook1)')
    .option('--attempt <n>', 'the value of ctx.attempt', wholeNumber(1), 1)
    .option('--replay', 'make ctx.replay true')
    .option('--late', 'make ctx.late true')
    .option('--reset-steps', 'run every step of ctx.once, even if its result is stored')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action(tryHandler);
}

async function tryHandler(id: string | undefined, flags: Flags): Promise<void> {
  const config = loadConfig();
  if (id === undefined) return tryEvent(await composed(flags), { flags, config });
  if (flags.kind !== undefined || flags.body !== undefined)
    throw new KitError('INPUT_INVALID', 'give either the id of an event, or the options of a notification');
  await withDatabase(config, async (store) => {
    const { body, ...event } = await eventOf(store, id);
    if (body === undefined)
      throw new KitError('EVENT_UNKNOWN', `the body of event ${id} was removed by retention or events prune`);
    const state = await store.state(event.resource);
    await tryEvent({ ...event, ...circumstances(flags), body, state }, { flags, config, store });
  });
}

async function composed(flags: Flags): Promise<Assignment> {
  const read = readBody(await bodyOf(flags));
  if (read.problem !== undefined)
    throw new KitError('INPUT_INVALID', `a receiver refuses this body with 400 (${read.problem})`);
  const received = { receivedAt: systemClock.now(), seq: 0, state: [] };
  return { ...toVerified(read.value, read.text), ...circumstances(flags), ...received };
}

function circumstances({ attempt, replay, late }: Flags) {
  return { starts: attempt, replays: replay ? 1 : 0, late: late === true, lease: '' };
}

interface Trying {
  readonly flags: Flags;
  readonly config: Config;
  /** has the results of steps */
  readonly store?: Pick<EventStore, 'step'>;
}

/** Runs the handler for an event once, as the dispatcher does, and stores nothing. */
async function tryEvent(event: Assignment, { flags, config, store }: Trying): Promise<void> {
  const { steps, called } = triedSteps(flags.resetSteps ? undefined : store);
  const began = systemClock.monotonic();
  const run = await withHandlers(config, ({ app, log }) =>
    interruptible('nothing was recorded', async (signal) => {
      const abort = new AbortController();
      signal.addEventListener('abort', () => abort.abort(signal.reason));
      const options = { config, app, log, store: steps, clock: systemClock };
      const ended = await keptAlive(() => runHandler(event, abort, options));
      signal.throwIfAborted();
      return ended;
    }),
  );
  const trial = { event, run, steps: called(), ms: Math.round(systemClock.monotonic() - began) };
  await (flags.json ? printJson(asJson(trial)) : print(describe(trial)));
  if (!['handled', 'skip', 'retry'].includes(run.type))
    throw new KitError('HANDLER_FAILED', 'the handler did not succeed');
}

/** The results of `ctx.once`: those that are stored, and those of steps that ran now, which are not. */
function triedSteps(stored: Pick<EventStore, 'step'> | undefined) {
  const results = new Map<string, { readonly result: string | null; readonly ran: boolean }>();
  const steps: OnceOptions['store'] = {
    async step(key, name) {
      const before = results.has(name) ? undefined : await stored?.step(key, name);
      if (before) results.set(name, { ...before, ran: false });
      return results.get(name);
    },
    holds: async () => true,
    async saveStep(_key, { name, result }) {
      results.set(name, { result, ran: true });
      return { result };
    },
  };
  const called = () => [...results].map(([name, { ran }]) => ({ name, ran }));
  return { steps, called };
}

/** How the trial run of a handler ended. */
interface Trial {
  readonly event: Assignment;
  readonly run: Run;
  readonly ms: number;
  /** in the order in which the handler called them */
  readonly steps: readonly { readonly name: string; readonly ran: boolean }[];
}

function asJson({ event: { id, kind, resource }, run, ms, steps }: Trial) {
  const { type: outcome, state = [] } = run;
  const reason = 'reason' in run ? run.reason : null;
  const after_ms = run.type === 'retry' ? (run.after ?? null) : null;
  const set = state.flatMap(({ name, value }) => (value === null ? [] : [{ name, value }]));
  const deleted = state.filter(({ value }) => value === null).map(({ name }) => name);
  const changes = { set: stateJson(set), deleted };
  return { id, kind, resource, outcome, reason, after_ms, duration_ms: ms, steps, state: changes };
}

function describe({ event: { id, kind, resource }, run, ms, steps }: Trial): string {
  const lines = [`${line(kind)} of ${line(resource)}, event ${id}`];
  for (const { name, ran } of steps)
    lines.push(`step ${line(name)}: ${ran ? 'ran' : 'its stored result was used'}`);
  for (const { name, value } of run.state ?? [])
    lines.push(`state ${line(name)}: ${value === null ? 'would be deleted' : `would be ${line(value)}`}`);
  const after = run.type === 'retry' && run.after !== undefined ? ` after ${run.after} ms` : '';
  const reason = 'reason' in run ? `: ${run.reason.split('\n').map(line).join('\n')}` : '';
  return [...lines, `${run.type}${after} (${ms} ms)${reason}`].join('\n');
}
