import { messageOf } from '../base/errors.ts';
import { plural } from '../base/text.ts';
import { firstLine } from '../replay/recording-lines.ts';
import { ofSubscriber, subscriberOf } from '../store/stored.ts';
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
  const names = new Set<string>();
  const play = (alone?: string) =>
    playCrashes(playerOf({ scenario, check, names, alone, ...options }), options, alone);
  await play().catch(async (error) => {
    // Where several were at work, the crash may have come at the point of another one than that which does not bear it.
    if (names.size > 1 && options.only === undefined) for (const name of names) await play(name);
    throw error;
  });
}

/**
 * Plays without a crash, then with one at each point, or at each point of one subscriber alone.
 * @throws Error telling which of them breaks the check first
 */
export async function playCrashes(play: Player, { except = [], only }: EveryCrashOptions, alone?: string) {
  const points: string[] = [];
  const note = (point: string) => {
    const isAnothers = alone !== undefined && subscriberOf(point) !== alone;
    if (!isAnothers && !except.some((place) => point.startsWith(place))) points.push(point);
    return false;
  };
  const failed = failing('without any crash, the check fails: ');
  // A scenario may need the others: then nobody can say what one alone breaks.
  await play(note).catch(alone === undefined ? failed : () => points.splice(0));
  if (points.length === 0 && alone === undefined)
    throw new Error('the scenario brings about no event: deliver something');
  for (const point of only === undefined ? points : [only]) {
    let isReached = false;
    const diesAt = (reached: string) => {
      isReached ||= reached === point;
      return reached === point;
    };
    const alone = `To see it alone: everyCrash(scenario, check, { only: ${JSON.stringify(point)} })`;
    await play(diesAt).catch(failing(`a crash ${point} breaks the check.\n${alone}\n`));
    if (!isReached)
      throw new Error(`the scenario does not come to "${point}": at first it came to ${points.join(', ')}`);
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
 * @param diesAt whether it dies at a point, each time of the same name: `between step charge`, `after record media_available #2`
 * @throws Error with what the check said, and how the events have ended that are not handled; the error of the scenario itself
 */
export type Player = (diesAt: (point: string) => boolean) => Promise<void>;

export interface PlayOptions<W> extends Pick<EveryCrashOptions, 'mayDie'> {
  readonly scenario: Scenario<W>;
  readonly check: Check<W>;
  /** only the events of this subscriber run before everything settles; '' is main; `all`: none do */
  readonly alone?: string | undefined;
  /** takes the names of the subscribers */
  readonly names?: Set<string>;
  /** what happens to its receiver once the scenario is over */
  readonly then?: (kit: TestReceiver, world: W) => Promise<void>;
}

export function playerOf<W>({ scenario, check, mayDie, then, alone, names }: PlayOptions<W>): Player {
  return async (diesAt) => {
    await using started = new AsyncDisposableStack();
    const kits: TestReceiver[] = [];
    const seen = new Map<string, number>();
    const dies = (point: string) => {
      const count = 1 + (seen.get(point) ?? 0);
      seen.set(point, count);
      return diesAt(count === 1 ? point : `${point} #${count}`);
    };
    const world = await scenario(async (options) => {
      const kit = started.use(await TestReceiver.start(options, dies, alone));
      kits.push(kit);
      return kit;
    });
    const [kit] = kits;
    if (!kit) throw new Error('the scenario starts no receiver: it must call start(options)');
    for (const name of kit.subscribers) names?.add(name);
    await then?.(kit, world);
    try {
      for (const one of kits) await one.settled();
      await check(kit, world);
      const dead = mayDie ? [] : await kit.events({ status: 'dead', subscriber: 'all' });
      if (dead.length > 0) throw new Error('events have ended as dead; { mayDie: true } lets them');
    } catch (cause) {
      throw new Error([messageOf(cause), ...(await endsOf(kit))].join('\n'), { cause });
    }
  };
}

/** A line for each event that was not handled. */
async function endsOf(kit: TestReceiver): Promise<string[]> {
  const others = (await kit.events({ subscriber: 'all' })).filter(({ status }) => status !== 'handled');
  return others.map(({ kind, subscriber, resource, status, attempts, lastError = '' }) => {
    const why = lastError && `: ${firstLine(lastError)}`;
    return `${ofSubscriber(kind, subscriber)} of ${resource} is ${status} after ${plural(attempts, 'attempt')}${why}`;
  });
}
