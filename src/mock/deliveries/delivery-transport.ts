import https from 'node:https';
import { beginningOf } from '../../base/answer-body.ts';
import { systemClock } from '../../base/clock.ts';
import { http } from '../../base/node-http.ts';

/** The answer of a receiver, or why there is none. */
export type Outcome =
  | { readonly type: 'answered'; readonly status: number; readonly body: string }
  | { readonly type: 'unanswered'; readonly error: string }
  | { readonly type: 'timed out' };

interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** An answer is only logged, so this much of it is enough. */
const ANSWER_LIMIT = 4096;

/** The errors of a kept-alive connection that the receiver closed at the same moment. */
const STALE = new Set(['ECONNRESET', 'EPIPE']);

/**
 * Posts over HTTP/1.1 with connections kept alive, following no redirect. The network is real, so its time-outs are
 * too, whatever clock the mock runs on.
 */
export class Transport {
  readonly #http = new http.Agent({ keepAlive: true });
  readonly #https = new https.Agent({ keepAlive: true });

  async post(post: Post): Promise<Outcome> {
    const outcome = await this.#try(post);
    return outcome === 'stale' ? this.post(post) : outcome;
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  #try({ url, headers, body, timeoutMs, signal }: Post): Promise<Outcome | 'stale'> {
    const { request, agent } = url.startsWith('https:')
      ? { request: https.request, agent: this.#https }
      : { request: http.request, agent: this.#http };
    return new Promise((resolve) => {
      const sent = request(url, { method: 'POST', headers, agent, signal });
      const disarm = systemClock.after(timeoutMs, () => {
        resolve({ type: 'timed out' });
        sent.destroy();
      });
      const end = (outcome: Outcome | 'stale') => {
        disarm();
        resolve(outcome);
      };
      const fail = (error: NodeJS.ErrnoException) =>
        end(
          sent.reusedSocket && STALE.has(codeOf(error))
            ? 'stale'
            : { type: 'unanswered', error: codeOf(error) },
        );
      sent.on('error', fail);
      sent.on('response', (response) => {
        beginningOf(response, ANSWER_LIMIT).then(
          (body) => end({ type: 'answered', status: response.statusCode ?? 0, body }),
          (error: NodeJS.ErrnoException) => end({ type: 'unanswered', error: codeOf(error) }),
        );
      });
      sent.end(body);
    });
  }
}

function codeOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message;
}
