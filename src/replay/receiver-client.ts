import type { Agent, ClientRequest } from 'node:http';
import https from 'node:https';
import { beginningOf } from '../base/answer-body.ts';
import { http } from '../base/node-http.ts';

/** What a receiver answered, or why it did not. */
export type Answer =
  | { readonly status: number; readonly body: string }
  | { readonly status?: undefined; readonly error: string };

export interface Post {
  readonly body: string | Buffer;
  readonly token: string;
  readonly timeoutMs: number;
  /** writes the body in another way than all at once */
  readonly writeBody?: ((request: ClientRequest, body: string | Buffer) => void) | undefined;
}

/** Nobody looks at more of an answer than this. */
const ANSWER_LIMIT = 4096;

/** What a connection that was kept alive fails with if the other end has closed it in the same moment. */
const STALE = new Set(['ECONNRESET', 'EPIPE']);

/** Posts notifications to one URL, with connections kept alive, following no redirect. */
export class Transport {
  readonly #url: URL;
  readonly #client: typeof http | typeof https;
  readonly #agent: Agent;

  constructor(url: URL) {
    this.#url = url;
    this.#client = url.protocol === 'https:' ? https : http;
    this.#agent = new this.#client.Agent({ keepAlive: true });
  }

  async post(post: Post): Promise<Answer> {
    const answer = await this.#try(post);
    return answer === 'stale' ? this.post(post) : answer;
  }

  close(): void {
    this.#agent.destroy();
  }

  #try({ body, token, timeoutMs, writeBody }: Post): Promise<Answer | 'stale'> {
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      Authorization: `Bearer ${token}`,
    };
    return new Promise((resolve) => {
      const request = this.#client.request(this.#url, { method: 'POST', headers, agent: this.#agent });
      const timer = setTimeout(() => {
        resolve({ error: `no answer within ${timeoutMs / 1000} s` });
        request.destroy();
      }, timeoutMs);
      const end = (answer: Answer | 'stale') => {
        clearTimeout(timer);
        resolve(answer);
      };
      request.on('error', (error: NodeJS.ErrnoException) => {
        const code = error.code ?? error.message;
        end(request.reusedSocket && STALE.has(code) ? 'stale' : { error: code });
      });
      request.on('response', (response) => {
        beginningOf(response, ANSWER_LIMIT).then(
          (body) => end({ status: response.statusCode ?? 0, body }),
          (error: NodeJS.ErrnoException) => end({ error: error.code ?? error.message }),
        );
      });
      if (writeBody) writeBody(request, body);
      else request.end(body);
    });
  }
}
