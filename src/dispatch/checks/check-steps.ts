import type { Logger } from 'pino';
import { systemClock } from '../../base/clock.ts';
import { type Finding, findingsOf } from '../../base/finding.ts';
import { wholeSeconds } from '../../base/time-text.ts';
import type { Config } from '../../config.ts';
import { KINDS, type Kind, kindNames } from '../../notification/kinds.ts';
import { toVerified } from '../../store/verified.ts';
import { statusesClientOf } from '../configured.ts';
import type { Handlers } from '../handler.ts';
import { madeUpEvent, rehearse } from '../rehearse.ts';

/** Does work that a user may interrupt, which aborts its signal. */
export type Interruptible = <T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

interface Rehearsing {
  readonly config: Config;
  /** the value of `ctx.app` */
  readonly app: unknown;
  readonly log: Logger;
  readonly rehearsal: Interruptible;
}

/**
 * Rehearses the handler of each kind once, with a notification that is made up: whether the names of its steps are unique. Nothing
 * is recorded, but what handlers do to other systems is real.
 */
export async function* checkSteps(handlers: Handlers, rehearsing: Rehearsing): AsyncGenerator<Finding> {
  for (const kind of kindNames) {
    if (!handlers[kind]) continue;
    yield await checkStepsOf(kind, handlers, rehearsing);
  }
}

async function checkStepsOf(
  kind: Kind,
  handlers: Handlers,
  { config, app, log, rehearsal }: Rehearsing,
): Promise<Finding> {
  const finding = findingsOf('steps');
  const { run, steps } = await rehearsal(async (signal) => {
    const ended = await rehearse(madeUp(kind), {
      handlers,
      app,
      log,
      timeoutMs: config.HANDLER_TIMEOUT_MS,
      statuses: statusesClientOf(config),
      stored: undefined,
      signal,
    });
    signal.throwIfAborted();
    return ended;
  });
  const repeated = steps
    .filter(({ times }) => times > 1)
    .map(({ name, times }) => `"${name}" ${times} times`);
  if (repeated.length > 0)
    return finding.fail(
      `the handler for ${kind} came to ${repeated.join(', ')}: ctx.once runs a name once for an event, and gives its first result ever after. Give each step a name of its own`,
    );
  const names = steps.length === 0 ? 'it has none' : steps.map(({ name }) => `"${name}"`).join(', ');
  if (run.type === 'handled' || run.type === 'skip' || run.type === 'retry')
    return finding.ok(`${kind}: ${names}`);
  return finding.warn(
    `${kind}: the rehearsal did not come to its end (${run.reason.split('\n')[0]}); so far: ${names}`,
  );
}

/** An event of a kind. */
function madeUp(kind: Kind) {
  const ids = Object.fromEntries(KINDS[kind].ids.map((name) => [name, 'rehearsal']));
  const body = {
    event: kind,
    ...ids,
    webhook_id: 'rehearsal',
    site_id: 'rehearsal',
    event_time: wholeSeconds(systemClock.now()),
  };
  return madeUpEvent(toVerified(body, JSON.stringify(body)));
}
