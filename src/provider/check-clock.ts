import type { Clock } from '../base/clock.ts';
import { whyUnreachable } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import { timeLimit } from '../base/pause.ts';

const TIMEOUT_MS = 10_000;
/** A Date header has whole seconds. */
const HALF_A_SECOND = 500;
const NOTICEABLE_MS = 5000;
const TOO_FAR_MS = 30_000;

/** Checks how far this machine's clock is from the provider's clock, by the Date header of an answer. */
export async function checkClock(providerUrl: string, clock: Clock): Promise<Finding> {
  const { ok, warn, fail, skipped } = findingsOf('clock');
  const before = clock.now();
  let date: string | null;
  try {
    const init = { method: 'HEAD', redirect: 'manual', signal: timeLimit(TIMEOUT_MS) } as const;
    date = (await fetch(providerUrl, init)).headers.get('date');
  } catch (error) {
    return skipped(`the provider does not answer (${whyUnreachable(error)})`);
  }
  const theirs = Date.parse(date ?? '');
  if (Number.isNaN(theirs)) return skipped('the provider does not say what time it is');
  const skew = Math.round((before + clock.now()) / 2 - theirs - HALF_A_SECOND);
  const seconds = (Math.abs(skew) / 1000).toFixed(1);
  const text = `${seconds} s ${skew < 0 ? 'behind' : 'ahead of'} the provider's`;
  if (Math.abs(skew) > TOO_FAR_MS) return fail(`${text}: set the clock, and keep it set (NTP)`);
  return Math.abs(skew) > NOTICEABLE_MS ? warn(`${text}: keep it set (NTP)`) : ok(text);
}
