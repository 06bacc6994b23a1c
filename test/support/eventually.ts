/** Between two checks. What takes long is checked less often: a check may cost a query or a request. */
const TURN_MS = { first: 2, growth: 1.2, longest: 25 };
/** A machine that does much beside is slow; only a test that fails waits so long. */
const LONGEST_MS = 60_000;

/**
 * Resolves once `check` holds: for results of other threads and processes, which no virtual clock moves.
 * @param what is to hold, for the message of a test that waits in vain
 */
export async function eventually(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + LONGEST_MS;
  let turn = TURN_MS.first;
  while (!(await check())) {
    if (performance.now() > giveUpAt) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, turn));
    turn = Math.min(turn * TURN_MS.growth, TURN_MS.longest);
  }
}
