import { messageOf } from '../base/errors.ts';
import { plural } from '../base/text.ts';
import { endAsText } from '../replay/expectations.ts';
import { ofSubscriber } from '../store/stored.ts';
import type { KitOptions } from './kit-options.ts';
import type { CrashPlace } from './life.ts';
import { TestReceiver } from './test-receiver.ts';

/** Starts the receiver of a scenario, in place of `testReceiver`. */
export type Start = (options: KitOptions) => Promise<TestReceiver>;

/**
 * Something that happens to a receiver. It starts the receiver and makes whatever handlers work on afresh, as it is played
 * again and again. @returns what the check needs
 */
export type Scenario<W> = (start: Start) => Promise<W>;

/** Throws if something is wrong at the end. */
export type Check<W> = (kit: TestReceiver, world: W) => void | Promise<void>;

export interface EveryCrashOptions {
  /**
   * places at which it does not die. A step that is not idempotent cannot survive `between step`: it runs again, since
   * nobody knows whether it ran
   */
  readonly except?: readonly CrashPlace[];
  /** whether events may end as dead; without it, that breaks the check */
  readonly mayDie?: boolean;
  /** plays only this point, by the name that an error gives it */
  readonly only?: string;
}

/**
 * Plays a scenario once and learns every point at which the receiver's process could die. Then plays it again for each point,
 * kills the process there, starts it again at once, lets everything settle, and checks.
 * @throws Error naming the point whose crash breaks the check; its cause is the error of the check
 * @example
 * await everyCrash(
 *   async (start) => {
 *     const bank = new FakeBank();
 *     const kit = await start({ handlers: charging(bank) });
 *     await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
 *     return bank;
 *   },
 *   (_kit, bank) => assert.equal(bank.charges.size, 1),
 * );
 */
export async function everyCrash<W>(
  scenario: Scenario<W>,
  check: Check<W>,
  options: EveryCrashOptions = {},
): Promise<void> {
  await playCrashes({ scenario, check, ...options });
}

export interface PlayOptions<W> extends EveryCrashOptions {
  readonly scenario: Scenario<W>;
  readonly check: Check<W>;
  /** what happens to its receiver once the scenario is over */
  readonly then?: (kit: TestReceiver, world: W) => Promise<void>;
}

/**
 * Plays without a crash, then with one at each point.
 * @throws Error telling which of them breaks the check first
 */
export async function playCrashes<W>(options: PlayOptions<W>): Promise<void> {
  const { except = [], only } = options;
  const reached = await play(options).catch(failing('without any crash, the check fails: '));
  const points = reached.filter((point) => !except.some((place) => point.startsWith(place)));
  if (points.length === 0) throw new Error('the scenario makes no event: deliver something');
  for (const point of only === undefined ? points : [only]) {
    const again = `To see it alone: everyCrash(scenario, check, { only: ${JSON.stringify(point)} })`;
    const came = await play(options, point).catch(failing(`a crash ${point} breaks the check.\n${again}\n`));
    if (!came.includes(point))
      throw new Error(`the scenario never comes to "${point}", but to ${points.join(', ')}`);
  }
}

/** Puts a text before the message of an error. */
export function failing(before: string): (error: unknown) => never {
  return (error) => {
    const cause = (error instanceof Error && error.cause) || error;
    throw new Error(before + messageOf(error), { cause });
  };
}

/**
 * Plays a scenario to its end, and checks.
 * @param last the point at which the process dies; without it, it does not die
 * @returns the points that the process came to, each by a name of its own: `between step charge`, `after record media_available #2`
 * @throws Error with what the check said, and how the events have ended that are not handled; the error of the scenario itself
 */
export async function play<W>(options: PlayOptions<W>, last?: string): Promise<readonly string[]> {
  const { scenario, check, mayDie, then } = options;
  await using started = new AsyncDisposableStack();
  const kits: TestReceiver[] = [];
  const points: string[] = [];
  const seen = new Map<string, number>();
  const diesAt = (place: string) => {
    const count = 1 + (seen.get(place) ?? 0);
    const point = count === 1 ? place : `${place} #${count}`;
    seen.set(place, count);
    points.push(point);
    return point === last;
  };
  const world = await scenario(async (given) => {
    const kit = started.use(await TestReceiver.start(given, diesAt));
    kits.push(kit);
    return kit;
  });
  const [kit] = kits;
  if (!kit) throw new Error('the scenario starts no receiver: it must call start(options)');
  await then?.(kit, world);
  try {
    for (const one of kits) await one.settled();
    await check(kit, world);
    const dead = mayDie ? [] : await kit.events({ status: 'dead', subscriber: 'all' });
    if (dead.length > 0) throw new Error('events have ended as dead; { mayDie: true } allows that');
  } catch (cause) {
    throw new Error([messageOf(cause), ...(await endsOf(kit))].join('\n'), { cause });
  }
  return points;
}

/** A line for each event that was not handled. */
async function endsOf(kit: TestReceiver): Promise<string[]> {
  const others = (await kit.events({ subscriber: 'all' })).filter(({ status }) => status !== 'handled');
  return others.map(({ kind, subscriber, resource, status, attempts, lastError: reason }) => {
    const what = `${ofSubscriber(kind, subscriber)} of ${resource} is`;
    return endAsText(what, { status: `${status} after ${plural(attempts, 'attempt')}`, reason });
  });
}
