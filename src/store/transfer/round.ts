import { createHash } from 'node:crypto';
import { KitError } from '../../base/errors.ts';
import { byKey, FORMS, type Form, lineOf, type Row } from './forms.ts';
import type { Change, Side } from './side.ts';

export interface Sides {
  readonly from: Side;
  readonly to: Side;
}

/** What a table has on both sides. */
export interface Compared {
  readonly table: string;
  readonly rows: number;
  /** the SHA-256 of all rows in their canonical form, of each side as it was read there */
  readonly from: string;
  readonly to: string;
}

/** What a round reads and finds. */
export interface Round {
  /** how many rows it wrote or removed */
  readonly changed: number;
  readonly tables: readonly Compared[];
}

export interface RoundOptions {
  readonly signal: AbortSignal;
  /** told after each page how many rows were compared */
  readonly onPage: (rows: number) => void;
  /** reads again what it wrote: for the round after which nothing changes */
  readonly verifies: boolean;
}

/**
 * Goes through all tables in ranges of their keys, and writes what differs. What is equal is passed over, so that nothing has to be
 * remembered of a transfer that was cut short.
 */
export async function copyDifferences(sides: Sides, options: RoundOptions): Promise<Round> {
  let changed = 0;
  let before = 0;
  const tables: Compared[] = [];
  for (const form of FORMS) {
    const onPage = (rows: number) => options.onPage(before + rows);
    const copied = await copyTable(sides, form, { ...options, onPage });
    changed += copied.changed;
    before += copied.compared.rows;
    tables.push(copied.compared);
  }
  return { changed, tables };
}

async function copyTable(
  { from, to }: Sides,
  form: Form,
  { signal, onPage, verifies }: RoundOptions,
): Promise<{ readonly changed: number; readonly compared: Compared }> {
  const [line, compare] = [lineOf(form), byKey(form)];
  const [fromSum, toSum] = [createHash('sha256'), createHash('sha256')];
  let rows = 0;
  let changed = 0;
  const read = (behind: Row | undefined) => {
    const pages = Promise.all([from.rows(form, behind), to.rows(form, behind)]);
    pages.catch(() => {}); // nobody waits for them if the range before fails
    return pages;
  };
  let after: Row | undefined;
  for (let pages = read(after); ; ) {
    signal.throwIfAborted();
    const range = rangeOf(await pages, compare);
    if (!range) break;
    const { upTo } = range;
    pages = read(upTo); // a server reads on while these are compared and written
    const wanted = withLines(range.wanted, line);
    let there = withLines(range.there, line);
    const change = differenceOf(wanted, there, compare);
    const differing = Math.max(change.removed.length, change.added.length);
    if (differing > 0) {
      await to.change(form, change);
      changed += differing;
      if (verifies) there = withLines(await readUpTo(to, form, { after, upTo }), line);
    }
    const [fromLines, toLines] = [textOf(wanted), textOf(there)];
    if (verifies && fromLines !== toLines) {
      throw new KitError(
        'STORE_UNUSABLE',
        `rows of ${form.table} are not in ${to.name} as they were written: end what else works on that database, and run the move again`,
      );
    }
    fromSum.update(fromLines);
    toSum.update(toLines);
    rows += wanted.length;
    onPage(rows);
    after = upTo;
  }
  return {
    changed,
    compared: { table: form.table, rows, from: fromSum.digest('hex'), to: toSum.digest('hex') },
  };
}

/** The rows of both sides up to where both pages reach; undefined after the last. */
function rangeOf(
  [ours, theirs]: readonly [readonly Row[], readonly Row[]],
  compare: (one: Row, other: Row) => number,
) {
  const ends = [ours.at(-1), theirs.at(-1)].filter((end) => end !== undefined);
  const [upTo] = ends.sort(compare);
  if (!upTo) return undefined;
  const within = (page: readonly Row[]) => page.filter((row) => compare(row, upTo) <= 0);
  return { upTo, wanted: within(ours), there: within(theirs) };
}

/** A row with its canonical form. */
interface Line {
  readonly row: Row;
  readonly line: string;
}

function withLines(rows: readonly Row[], line: (row: Row) => string): readonly Line[] {
  return rows.map((row) => ({ row, line: line(row) }));
}

/** What makes the rows that are there into the wanted ones. */
function differenceOf(
  wanted: readonly Line[],
  there: readonly Line[],
  compare: (one: Row, other: Row) => number,
): Change {
  const removed: Row[] = [];
  const added: Row[] = [];
  for (let [at, other] = [0, 0]; at < wanted.length || other < there.length; ) {
    const [one, former] = [wanted[at], there[other]];
    const order = !one ? 1 : !former ? -1 : compare(one.row, former.row);
    const isSame = one && former && order === 0 && one.line === former.line;
    if (one && order <= 0 && !isSame) added.push(one.row);
    if (former && order >= 0 && !isSame) removed.push(former.row);
    if (order <= 0) at++;
    if (order >= 0) other++;
  }
  return { removed, added };
}

async function readUpTo(
  side: Side,
  form: Form,
  { after, upTo }: { readonly after: Row | undefined; readonly upTo: Row },
): Promise<readonly Row[]> {
  const compare = byKey(form);
  const all: Row[] = [];
  for (let last = after; ; last = all.at(-1)) {
    const page = await side.rows(form, last);
    const inside = page.filter((row) => compare(row, upTo) <= 0);
    all.push(...inside);
    if (inside.length < page.length || page.length === 0) return all;
  }
}

function textOf(lines: readonly Line[]): string {
  return lines.map(({ line }) => `${line}\n`).join('');
}
