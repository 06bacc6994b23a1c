import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { keptAlive, systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import { type Config, loadConfig } from '../config.ts';
import type { Handlers } from '../dispatch/handler.ts';
import { checkApp, handlersFile, loadDefinition } from '../dispatch/load-handlers.ts';
import type { OnceOptions } from '../dispatch/once.ts';
import { type Assignment, type Run, runHandler } from '../dispatch/run-handler.ts';
import { KINDS, kindNames } from '../notification/kinds.ts';
import { readBody } from '../replay/compose.ts';
import type { EventStore } from '../store/event-store.ts';
import { stateJson } from '../store/lists/event-json.ts';
import { withDatabase } from '../store/open.ts';
import { toVerified } from '../store/verified.ts';
import { eventOf } from './events/list-and-show.ts';
import { interruptible } from './interruptible.ts';
import { type BodyFlags, bodyOf, eventId, wholeNumber, withBody } from './options.ts';
import { line, print, printFindings, printJson, table, write } from './output.ts';
import { endProcess, withHandlers } from './with-handlers.ts';

export function addHandlers(program: Command): void {
  const handlers = program
    .command('handlers')
    .description('List the kinds that your handlers take, check the handlers, or try one of them.');
  handlers
    .command('list', { isDefault: true })
    .description('List each kind, and whether it has a handler (the default); unknown is every other kind.')
    .option('--json', 'print a JSON array, which also has the ids in each kind')
    .action(list);
  handlers
    .command('check')
    .description(
      'Check that the handlers load, their settings and kinds, and their types by your TypeScript.',
    )
    .option('--strict', 'fail where a kind has no handler, which only warns otherwise')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', '\nNo handler runs. After a FAIL the exit code is 1.')
    .action(check);
  addTry(handlers);
}

async function list({ json }: { json?: true }): Promise<void> {
  try {
    const { handlers } = await loadDefinition(loadConfig());
    const all = [...kindNames, 'unknown' as const].map((kind) => {
      const ids: readonly string[] = kind === 'unknown' ? [] : KINDS[kind].ids;
      return { kind, ids, handler: handlers[kind] !== undefined };
    });
    if (json) return await printJson(all);
    const rows = all.map(({ kind, handler }) => [kind, handler ? 'yes' : 'none: ends as skipped']);
    await write(table(['kind', 'handler'], rows));
  } finally {
    endProcess(); // whatever the handlers' files set off while they load
  }
}

interface CheckFlags {
  readonly strict?: true;
  readonly json?: true;
}

const MOST_ERRORS = 10;

async function check({ strict, json }: CheckFlags): Promise<void> {
  try {
    await printFindings(checkHandlers(loadConfig(), strict === true), { json });
  } finally {
    endProcess(); // whatever the handlers' files set off while they load
  }
}

/** All checks of the handlers, one after another. A problem is a finding, never an error. */
async function* checkHandlers(config: Config, isStrict: boolean): AsyncGenerator<Finding, void, undefined> {
  const { loaded, findings } = await checkApp(config);
  yield* findings;
  if (!loaded) return yield findingsOf('everything else').skipped('it needs handlers that load');
  yield checkKinds(loaded.handlers, isStrict);
  yield checkTypes(handlersFile(config));
}

/** Whether every kind has a handler: one that only skips says that this is on purpose. */
function checkKinds(handlers: Handlers, isStrict: boolean): Finding {
  const finding = findingsOf('kinds');
  const missing = kindNames.filter((kind) => !handlers[kind]);
  if (missing.length === 0) return finding.ok('every kind has a handler');
  return finding[isStrict ? 'fail' : 'warn'](
    `no handler for ${missing.join(', ')}. What you do not need, skip on purpose: ${missing[0]}: () => skip('not needed here')`,
  );
}

/** Whether types fit, by the TypeScript and the tsconfig.json of the project that the handlers are in. */
function checkTypes(file: string): Finding {
  const { ok, fail, skipped } = findingsOf('types');
  const project = above(dirname(file), 'tsconfig.json');
  if (project === undefined) return skipped(`there is no tsconfig.json at or above ${dirname(file)}`);
  const compiler = above(dirname(file), 'node_modules/typescript/bin/tsc');
  if (compiler === undefined)
    return skipped('TypeScript is not installed: npm install --save-dev typescript');
  const args = [compiler, '--noEmit', '--pretty', 'false', '--project', project];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status === 0) return ok(`they fit, says tsc for ${project}`);
  const errors = stdout.split('\n').filter((line) => /\berror TS\d+/.test(line));
  return fail(['they do not fit:', ...errors.slice(0, MOST_ERRORS)].join('\n  '));
}

/** A file of this name in a folder, or in one above it. */
function above(folder: string, name: string): string | undefined {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  return folder === dirname(folder) ? undefined : above(dirname(folder), name);
}

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

function addTry(handlers: Command): void {
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
