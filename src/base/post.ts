import { once } from 'node:events';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { bodyTextOf } from './answer-body.ts';
import { messageOf } from './errors.ts';

/** The result of a post. */
export type PostResult =
  | { readonly type: 'answered'; readonly status: number; readonly body: string }
  | { readonly type: 'unanswered' | 'timed out'; readonly status?: undefined; readonly error: string };

export interface Post {
  readonly url: string | URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** writes the body in another way than all at once */
  readonly writeBody?: ((request: ClientRequest, body: string | Buffer) => void) | undefined;
}

/** In characters: an answer is for a log or a report, which need no more. */
const ANSWER_LIMIT = 4096;

/** The errors of a connection that was kept alive, if the other end has closed it in the same moment. */
const STALE = new Set(['ECONNRESET', 'EPIPE']);

/**
 * Posts over HTTP/1.1 with connections kept alive, following no redirect. The network is real, so time-outs are
 * timed by the machine's clock, also if the caller runs on another.
 */
export async function post(what: Post): Promise<PostResult> {
  const { url, headers, body, timeoutMs, signal, writeBody } = what;
  const limit = AbortSignal.timeout(timeoutMs);
  const options = { method: 'POST', headers, signal: AbortSignal.any(signal ? [limit, signal] : [limit]) };
  const { request } = String(url).startsWith('https:') ? https : http;
  const sent = request(url, options);
  sent.on('error', () => {}); // also one that comes behind the answer
  let isAnswered = false;
  try {
    if (writeBody) writeBody(sent, body);
    else sent.end(body);
    const [response]: IncomingMessage[] = await once(sent, 'response');
    isAnswered = true;
    const text = await bodyTextOf({ body: response ?? null });
    return { type: 'answered', status: response?.statusCode ?? 0, body: text.slice(0, ANSWER_LIMIT) };
  } catch (error) {
    if (limit.aborted) return { type: 'timed out', error: `no answer within ${timeoutMs / 1000} s` };
    const code = (error as NodeJS.ErrnoException).code ?? messageOf(error);
    const isStale = sent.reusedSocket && STALE.has(code) && !isAnswered;
    return isStale ? post(what) : { type: 'unanswered', error: code };
  }
}
