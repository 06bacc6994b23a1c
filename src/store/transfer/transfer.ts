import { randomBytes, randomUUID } from 'node:crypto';
import type { MonotonicClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { type Mark, mark, setMark } from '../semantics/marks.ts';
import { take } from '../semantics/recording.ts';
import { FORMS } from './forms.ts';
import { type Compared, copyDifferences, type Round, type Sides } from './round.ts';
import { copySecrets, type Keys, openVaults, type Vaults } from './secrets.ts';
import type { Side } from './side.ts';

export interface TransferOptions extends Keys {
  /** copies while other programs use `from`, and ends once they have ended */
  readonly follows: boolean;
  /** how long other programs may take to end, milliseconds: some that were killed are still seen at a server */
  readonly waitMs: number;
  readonly clock: MonotonicClock;
  /** ends it after the current page; the next one goes on there */
  readonly signal: AbortSignal;
  /** told after each page how many rows of this round were compared */
  readonly onPage: (rows: number) => void;
  /** told after each round before the last */
  readonly onRound: (round: FollowedRound) => void;
}

/** A round after which other programs still use `from`. */
export interface FollowedRound {
  /** from 1 */
  readonly number: number;
  /** how many rows were not the same any more */
  readonly changed: number;
  readonly ms: number;
}

export interface Transferred {
  readonly tables: readonly Compared[];
  /** how many rounds there were, the last one included */
  readonly rounds: number;
  /** how long nobody could use `from`, milliseconds */
  readonly lastRoundMs: number;
}

/** Between two rounds, at least: it takes no more than half of the time of two disks. */
const PAUSE_MS = 5000;
/** How often it looks meanwhile whether the other programs have ended. */
const TRY_EVERY_MS = 1000;

/**
 * Brings everything of one database into another one, which is empty or has a part of it. A kill at any time loses nothing, and the
 * next call goes on from there. In the last round nobody can use `from`; after it, `from` is marked so that programs refuse it.
 * @throws KitError STORE_UNUSABLE with what to do about it
 */
export async function transfer(sides: Sides, options: TransferOptions): Promise<Transferred> {
  const { from, to } = sides;
  const { follows, waitMs, clock, signal } = options;
  const beginning = await examine(sides);
  const vaults = await openVaults(sides, options); // before anything is marked: a key may be missing
  await begin(sides, { ...beginning, follows, waitMs });
  const { id } = beginning;
  for (let number = 1; ; number++) {
    const began = clock.monotonic();
    const { changed } = await copyAll(sides, vaults, { ...options, verifies: false });
    const ms = clock.monotonic() - began;
    const lastRound = (within: number) => from.alone(within, () => finish(sides, vaults, { ...options, id }));
    let last = await lastRound(follows ? 0 : waitMs);
    if (!last) {
      if (!follows) throw inUse(from);
      options.onRound({ number, changed, ms });
    }
    for (const end = clock.monotonic() + Math.max(PAUSE_MS, ms); !last && clock.monotonic() < end; ) {
      await pause(clock, TRY_EVERY_MS, signal);
      last = await lastRound(0);
    }
    if (last) {
      await to.transact((tables) => setMark(tables, undefined));
      return { ...last.done, rounds: number + 1 };
    }
  }
}

/**
 * Refuses a move that is sure to be refused, before the other side is made.
 * @throws KitError STORE_UNUSABLE with what to do about it
 */
export async function refuseBeforehand(
  from: Side,
  { follows, waitMs }: Pick<TransferOptions, 'follows' | 'waitMs'>,
): Promise<void> {
  refuseOther(from, await from.transact(mark), undefined);
  if (!follows && !(await from.alone(waitMs, async () => {}))) throw inUse(from);
}

/**
 * Lets programs use a database again of which everything was moved.
 * @returns whether it was marked
 */
export async function reopen(side: Side): Promise<boolean> {
  return side.transact(async (tables) => {
    const found = await mark(tables);
    // Also without a mark, which an older program may have removed: it leaves what keeps writes away.
    if (!found || found.as === 'moved') await setMark(tables, undefined);
    return found?.as === 'moved';
  });
}

/** A move as it stands before this run of it. */
interface Beginning {
  readonly id: string;
  /** an earlier run has marked both sides */
  readonly isUnfinished: boolean;
}

/** Looks at the marks of both sides, and changes nothing. @throws KitError */
async function examine({ from, to }: Sides): Promise<Beginning> {
  if (from.name === to.name) throw new KitError('INPUT_INVALID', 'the two databases are the same one');
  const [ours, theirs] = [await from.transact(mark), await to.transact(mark)];
  const isUnfinished = theirs?.as === 'to' && theirs.id === ours?.id;
  const id = isUnfinished ? theirs.id : randomUUID();
  refuseOther(from, ours, id);
  if (!isUnfinished) await refuseUsed(to);
  return { id, isUnfinished };
}

type BeginOptions = Beginning & Pick<TransferOptions, 'follows' | 'waitMs'>;

/** Marks both sides: of two moves of one database, the one that began last goes on. */
async function begin(
  { from, to }: Sides,
  { id, isUnfinished, follows, waitMs }: BeginOptions,
): Promise<void> {
  const markFrom = () =>
    from.transact(async (tables) => {
      const ours = await mark(tables);
      refuseOther(from, ours, id);
      if (ours?.id !== id) await setMark(tables, { as: 'from', id, other: to.name });
    });
  if (follows) await markFrom();
  else if (!(await from.alone(waitMs, markFrom))) throw inUse(from);
  const isBegun = await to.alone(waitMs, async () => {
    if (isUnfinished) return;
    await refuseUsed(to);
    await to.transact((tables) => setMark(tables, { as: 'to', id, other: from.name }));
  });
  if (!isBegun) throw unusable(`other programs use ${to.name}: end them, and run this again`);
}

/** @throws KitError STORE_UNUSABLE if a database cannot be moved because of what another move has done with it */
function refuseOther({ name }: Side, found: Mark | undefined, id: string | undefined): void {
  if (found?.as === 'to')
    throw unusable(`${name} holds an unfinished move from ${found.other}: finish that move first`);
  if (found?.as === 'moved' && found.id !== id) {
    throw unusable(
      `everything in ${name} was moved to ${found.other}: to move it once more, run npx hookkit move --from URL --reopen before`,
    );
  }
}

const ROLES: Readonly<Record<Mark['as'], string>> = {
  from: 'it is being moved to',
  to: 'it is being filled from',
  moved: 'it was moved to',
};

/** @throws KitError STORE_UNUSABLE if a database has something */
async function refuseUsed(side: Side): Promise<void> {
  const found = await side.transact(mark);
  if (found) {
    const role = ROLES[found.as];
    throw unusable(`${side.name} is a side of another move (${role} ${found.other}): name an empty database`);
  }
  if (!(await isEmpty(side))) throw unusable(`${side.name} is not empty: name an empty database`);
}

async function isEmpty(side: Side): Promise<boolean> {
  for (const form of FORMS) {
    if (form.table !== 'quarantine_sums' && (await side.rows(form, undefined)).length > 0) return false;
  }
  return (await side.transact((tables) => tables.secrets())).length === 0;
}

type RoundOptions = Pick<TransferOptions, 'signal' | 'onPage'>;

/** The last round: nobody else can use `from` until its end, and its mark is committed with it. */
async function finish(
  sides: Sides,
  vaults: Vaults,
  { id, clock, ...options }: RoundOptions & { readonly id: string; readonly clock: MonotonicClock },
): Promise<Omit<Transferred, 'rounds'>> {
  const { from, to } = sides;
  const began = clock.monotonic();
  const found = await from.transact(mark);
  if (found?.id !== id)
    throw unusable(`another move of ${from.name} began meanwhile, to ${found?.other}: that one goes on`);
  while (!(await from.transact(take)));
  const { tables } = await copyAll(sides, vaults, { ...options, verifies: true });
  await to.complete(await from.numbers());
  await from.transact((rows) => setMark(rows, { as: 'moved', id, other: to.name }));
  return { tables, lastRoundMs: clock.monotonic() - began };
}

async function copyAll(
  sides: Sides,
  vaults: Vaults,
  options: RoundOptions & { readonly verifies: boolean },
): Promise<Round> {
  // Before the list of webhooks that ever had a secret, to which a new secret adds.
  const secrets = await copySecrets(vaults, randomBytes(32));
  const { changed, tables } = await copyDifferences(sides, options);
  return { changed: secrets.changed + changed, tables: [secrets.compared, ...tables] };
}

function inUse(side: Side): KitError {
  return unusable(
    `other programs use ${side.name}: end them, and run this again; where receivers must go on meanwhile, add --follow`,
  );
}

function unusable(message: string): KitError {
  return new KitError('STORE_UNUSABLE', message);
}
