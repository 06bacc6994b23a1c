import { missedBy, passText } from '../../passes.ts';
import type { Pass } from '../../store/event-store.ts';
import { RECONCILE } from '../../store/reports/report.ts';
import type { Known } from '../api/stats.ts';
import { duration, eventsPath } from '../pages/words.ts';
import { type Found, type Sentence, since } from './concern.ts';

const WEEK_MS = 7 * 86_400_000;
/** The last notification may have come a minute later than known, and another process may tell of a new one some seconds late. */
const LATE_MS = 120_000;
/** A silence so many times longer than each of the week before is no chance any more. */
const FAR = 3;
const LOST =
  'Notifications are lost on their way: look at the webhook at the provider, and at the proxies before the receiver.';

/** Notifications that should have come and have not: by the list of the app, and by what is usual. */
export function missing({ pass, ticking, silence, now }: Known): Found {
  // No pass follows where the app has none any more.
  const goesOn = ticking.schedules.some(({ name, instances }) => name === RECONCILE && instances.length > 0);
  return [
    pass !== undefined && missedBy(pass) > 0 && goesOn && ofPass(pass),
    silence !== undefined && ofSilence(silence, now),
  ];
}

function ofPass(pass: Pass): Sentence {
  const tooMany =
    'So many are seldom lost. Look first at the time zone of the times that your `expected` yields: if it is an hour off, each notification seems missing. ' +
    `If they really are missing, record them: \`npx hookkit reconcile --most ${missedBy(pass)}\`.`;
  return {
    fault: pass.isRecorded ? 'reconciled' : 'reconcile_too_many',
    grave: !pass.isRecorded,
    text: passText(pass),
    advice: pass.isRecorded ? LOST : tooMany,
    ...(pass.isRecorded && { path: eventsPath({ webhook: 'hookkit' }) }),
  };
}

function ofSilence(silence: NonNullable<Known['silence']>, now: number) {
  const { lastAt, longestMs: told = 0, firstAt = now } = silence;
  const longest = silence.longestMs ?? WEEK_MS; // where the statistics have none of it
  const ms = since(lastAt, now);
  if (lastAt === undefined || now - firstAt < WEEK_MS || ms <= longest + LATE_MS) return false;
  const usual = told > 0 ? `; the longest silence of the week before was ${duration(longest)}` : '';
  return {
    fault: 'silence',
    grave: ms >= FAR * longest,
    since: lastAt,
    text: `No notification has come for ${duration(ms)}${usual}`,
    advice:
      'If something happened at the provider meanwhile, look at the webhook there: does it exist, and are its kinds, sites and URL right? ' +
      '`npx hookkit doctor` checks whether its URL leads here.',
  };
}
