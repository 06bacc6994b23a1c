import { systemClock } from '../../src/base/clock.ts';
import { openSide } from '../../src/store/open.ts';
import type { Side } from '../../src/store/transfer/side.ts';
import { type TransferOptions, type Transferred, transfer } from '../../src/store/transfer/transfer.ts';
import { SECRETS_KEY } from './postgres-databases.ts';

interface Options extends Partial<TransferOptions> {
  /** comes between the move and each of the two databases */
  readonly around?: (side: Side, url: string) => Side;
}

/** Moves a database as the command does. */
export async function move(
  from: string,
  to: string,
  { around = (side) => side, ...options }: Options = {},
): Promise<Transferred> {
  const opened: Side[] = [];
  const open = async (url: string) => {
    const side = await openSide(url);
    opened.push(side);
    return around(side, url);
  };
  try {
    return await transfer(
      { from: await open(from), to: await open(to) },
      {
        follows: false,
        waitMs: 60_000, // stores that were just closed are still seen at a busy server
        clock: systemClock,
        signal: new AbortController().signal,
        onPage() {},
        onRound() {},
        secretsKey: SECRETS_KEY,
        fromKey: undefined,
        ...options,
      },
    );
  } finally {
    for (const side of opened) await side.close();
  }
}

const CHANGING: readonly string[] = ['change', 'transact', 'alone', 'complete'];
export const FAILED = 'this step fails in a test';

/** The same, but a step that `isMeant` fails before it does anything. */
export function failing(side: Side, isMeant: (step: string) => boolean): Side {
  return preceded(side, async (step) => {
    if (CHANGING.includes(step) && isMeant(step)) throw new Error(FAILED);
  });
}

/** The same, but each step waits for `before`. */
export function preceded(side: Side, before: (step: string) => Promise<void>): Side {
  return new Proxy(side, {
    get(_, name) {
      const member: unknown = Reflect.get(side, name);
      if (typeof member !== 'function') return member;
      return async (...given: readonly unknown[]) => {
        await before(String(name));
        return Reflect.apply(member, side, given);
      };
    },
  });
}
