import type { ClientRequest } from 'node:http';
import https from 'node:https';
import { beginningOf } from './answer-body.ts';
import { systemClock } from './clock.ts';
import { http } from './node-http.ts';

/** The result of a post. */
export type PostResult =
  | { readonly type: 'answered'; readonly status: number; readonly body: string }
  | { readonly type: 'unanswered'; readonly error: string }
  | { readonly type: 'timed out' };

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
export class Poster {
  readonly #http = new http.Agent({ keepAlive: true });
  readonly #https = new https.Agent({ keepAlive: true });

  async post(post: Post): Promise<PostResult> {
    const result = await this.#try(post);
    return result === 'stale' ? this.post(post) : result;
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  #try({ url, headers, body, timeoutMs, signal, writeBody }: Post): Promise<PostResult | 'stale'> {
    const { request, agent } = String(url).startsWith('https:')
      ? { request: https.request, agent: this.#https }
      : { request: http.request, agent: this.#http };
    return new Promise((resolve) => {
      const sent = request(url, { method: 'POST', headers, agent, ...(signal && { signal }) });
      const disarm = systemClock.after(timeoutMs, () => {
        resolve({ type: 'timed out' });
        sent.destroy();
      });
      const end = (result: PostResult | 'stale') => {
        disarm();
        resolve(result);
      };
      const fail = (error: NodeJS.ErrnoException) => {
        const code = codeOf(error);
        end(sent.reusedSocket && STALE.has(code) ? 'stale' : { type: 'unanswered', error: code });
      };
      sent.on('error', fail);
      sent.on('response', (response) => {
        beginningOf(response, ANSWER_LIMIT).then(
          (text) => end({ type: 'answered', status: response.statusCode ?? 0, body: text }),
          (error: NodeJS.ErrnoException) => end({ type: 'unanswered', error: codeOf(error) }),
        );
      });
      if (writeBody) writeBody(sent, body);
      else sent.end(body);
    });
  }
}

function codeOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message;
}
