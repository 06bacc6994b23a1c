import type { Agent, ClientRequest } from 'node:http';
import https from 'node:https';
import { beginningOf } from '../base/answer-body.ts';
import { systemClock } from '../base/clock.ts';
import { http } from '../base/node-http.ts';
import { visibleLine } from '../base/visible.ts';

/** The answer of a receiver, or why there was none. */
export type Answer =
  | { readonly status: number; readonly body: string }
  | { readonly status?: undefined; readonly error: string };

export interface NotificationRequest {
  readonly body: string | Buffer;
  readonly token: string;
  /** how long to wait for the answer */
  readonly timeoutMs: number;
  /** writes the body in another way than all at once */
  readonly writeBody?: ((request: ClientRequest, body: string | Buffer) => void) | undefined;
}

/** In characters; nobody looks at more of an answer. */
const ANSWER_LIMIT = 4096;

/** Errors of a connection that was kept alive, if the receiver closed it in the same moment. */
const STALE = new Set(['ECONNRESET', 'EPIPE']);

/** Posts notifications to one receiver. It keeps connections alive and follows no redirect. */
export class ReceiverClient {
  readonly #url: URL;
  readonly #client: typeof http | typeof https;
  readonly #agent: Agent;

  constructor(url: URL) {
    this.#url = url;
    this.#client = url.protocol === 'https:' ? https : http;
    this.#agent = new this.#client.Agent({ keepAlive: true });
  }

  async post(notification: NotificationRequest): Promise<Answer> {
    const answer = await this.#try(notification);
    return answer === 'stale' ? this.post(notification) : answer;
  }

  close(): void {
    this.#agent.destroy();
  }

  #try({ body, token, timeoutMs, writeBody }: NotificationRequest): Promise<Answer | 'stale'> {
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      Authorization: `Bearer ${token}`,
    };
    return new Promise((resolve) => {
      const request = this.#client.request(this.#url, { method: 'POST', headers, agent: this.#agent });
      const cancel = systemClock.after(timeoutMs, () => {
        resolve({ error: `no answer within ${timeoutMs / 1000} s` });
        request.destroy();
      });
      const end = (answer: Answer | 'stale') => {
        cancel();
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

/** An answer in a word: `accepted`, `duplicate`, another status, or `failed: ...` if there was none. */
export function wordOf(answer: Answer): string {
  if (answer.status === undefined) return `failed: ${answer.error}`;
  if (answer.status !== 200) return String(answer.status);
  const { status } = membersOf(answer.body);
  return status === 'accepted' || status === 'duplicate' ? status : '200';
}

/** Why a receiver refused a notification, if its answer says so. */
export function reasonOf(answer: Answer): string | undefined {
  if (answer.status === undefined || answer.status === 200) return undefined;
  const { error } = membersOf(answer.body);
  return typeof error === 'string' ? visibleLine(error) : undefined;
}

function membersOf(body: string): { readonly status?: unknown; readonly error?: unknown } {
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
}
