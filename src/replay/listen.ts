import { bodyTextOf } from '../base/answer-body.ts';
import { pauseUntilAborted, systemClock, timeLimit } from '../base/clock.ts';
import { KitError, whyUnreachable } from '../base/errors.ts';
import { plural, visibleLine } from '../base/text.ts';
import { signNotification } from '../notification/token.ts';
import { postNotification, refusalReasonOf, type SigningKeys, wordOf } from './receiver-client.ts';
import { CURSOR, type RecordedNotification } from './recording-lines.ts';

interface Patience {
  /** ends the work */
  readonly signal: AbortSignal;
  /** told what goes wrong, and when it is tried again */
  readonly say: (text: string) => void;
}

export interface Listening extends Patience {
  /** the admin listener of a receiver elsewhere; its path ends with a slash */
  readonly from: URL;
  readonly token: string | undefined;
  /** a cursor, `start`, `now`, or since which time */
  readonly after: string;
  /** as `/api/received` takes them */
  readonly filters: object;
}

/** How many events a request asks for at most: they are in memory. */
const MOST = 100;
/**
 * In bytes. It holds a page of the default `BODY_LIMIT` three times, as JSON makes a body twice as long at most, and any one event of the
 * highest. Where that limit was raised, pages of fewer events pass.
 */
const LONGEST_PAGE = 48 * 1024 * 1024;
/** Proxies end what stays silent for a minute. */
const WAIT_S = 25;
export const ANSWER_MS = 10_000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
const ADVICE: Readonly<Record<number, string>> = {
  200: ' without a cursor or the event: give the URL of its admin listener (ADMIN_PORT)',
  401: ': give its ADMIN_READ_TOKEN in --token-file',
  404: ': give the URL of its admin listener (ADMIN_PORT)',
};

/** Waits before something is tried again, each time longer. */
function growingPause({ signal, say }: Patience) {
  let ms = FIRST_PAUSE_MS;
  return async (why: string): Promise<void> => {
    say(`${visibleLine(why)}; trying again in ${ms / 1000} s`);
    await pauseUntilAborted(systemClock, ms, signal);
    ms = Math.min(2 * ms, LONGEST_PAUSE_MS);
  };
}

/**
 * What a receiver elsewhere has received after a cursor, and then what it receives, until the signal is aborted.
 * @throws KitError REPLAY_FAILED if it refuses the request, such as for its token
 */
export async function* pagesOf(listening: Listening) {
  const { from, signal, say } = listening;
  let { after } = listening;
  let limit = MOST;
  let pause = growingPause(listening);
  let waitS = 0; // the first answer comes at once, and says that the connection stands
  while (!signal.aborted) {
    const page = await pageOf({ ...listening, after, limit, waitS });
    if (signal.aborted) return;
    if (typeof page === 'string') {
      await pause(`no connection to ${from.href}: ${page}`);
      waitS = 0;
      limit = Math.ceil(limit / 2); // it may have been too long, or too slow
      continue;
    }
    if (waitS === 0)
      say(`connected to ${from.href}: ${plural(page.lines.length + page.behind, 'event')} behind`);
    pause = growingPause(listening);
    waitS = WAIT_S;
    after = page.cursor;
    limit = Math.min(2 * limit, MOST);
    yield page;
  }
}

interface Asking {
  readonly token: string | undefined;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Asks the admin listener of a receiver elsewhere. No redirect gets the token, and no answer has it. @returns why there is none, if so */
export async function ask(url: URL, { token, signal, timeoutMs }: Asking) {
  const headers = new Headers(token === undefined ? {} : { Authorization: `Bearer ${token}` });
  const abort = AbortSignal.any([signal, timeLimit(timeoutMs)]);
  const asked = fetch(url, { headers, redirect: 'manual', signal: abort }).then(async (answer) => {
    const body = (await bodyTextOf(answer, LONGEST_PAGE)).replaceAll(token ?? '\0', '(token)');
    return { status: answer.status, body, header: (name: string) => answer.headers.get(name) ?? '' };
  });
  return asked.catch(whyUnreachable);
}

/** What such an answer means that is none of what was asked for. */
export function whyRefused({ status, body }: { readonly status: number; readonly body: string }): string {
  const said = refusalReasonOf({ type: 'answered', status, body });
  return `it answered ${status}${said === undefined ? '' : ` (${said})`}${ADVICE[status] ?? ''}`;
}

/** Recordings with their cursors, where the next page begins, and about how many events come behind; or why there is no page just now. */
async function pageOf(asking: Listening & { readonly limit: number; readonly waitS: number }) {
  const { from, token, filters, signal, after, limit, waitS } = asking;
  const url = new URL('api/received', from);
  url.search = `${new URLSearchParams({ ...filters, after, limit: `${limit}`, wait: `${waitS}` })}`;
  const answer = await ask(url, { token, signal, timeoutMs: waitS * 1000 + ANSWER_MS });
  if (typeof answer === 'string') return answer;
  const { status, header, body } = answer;
  const cursor = header('X-Cursor');
  if (status === 200 && CURSOR.test(cursor))
    return { lines: body.split('\n').slice(0, -1), cursor, behind: Number(header('X-Behind')) };
  const why = whyRefused(answer);
  if (status >= 500 || status === 429) return why;
  throw new KitError('REPLAY_FAILED', `${from.href}: ${why}`);
}

/**
 * Sends a recording until the receiver takes it.
 * @returns the answer in a word and how long it took; undefined if the signal was aborted first
 * @throws KitError REPLAY_FAILED if no secret is known for its webhook
 */
export async function deliver(
  { body, webhookId }: RecordedNotification,
  delivering: Patience & { readonly to: URL; readonly keys: SigningKeys },
) {
  const { to, keys, signal } = delivering;
  const key = keys.keyFor(webhookId);
  if (!key) {
    const why = `there is no secret to sign with for webhook ${visibleLine(webhookId)}`;
    throw new KitError(
      'REPLAY_FAILED',
      `${why}: give --secret-file, or set the WEBHOOK_SECRET of that receiver here`,
    );
  }
  const pause = growingPause(delivering);
  while (!signal.aborted) {
    const began = systemClock.monotonic();
    const answer = await postNotification(to, {
      body,
      token: signNotification(body, key),
      timeoutMs: ANSWER_MS,
    });
    const word = wordOf(answer);
    if (answer.status === 200) return { word, ms: Math.round(systemClock.monotonic() - began) };
    const reason = refusalReasonOf(answer);
    await pause(`not taken: ${word}${reason === undefined ? '' : ` (${reason})`}`);
  }
  return undefined;
}
