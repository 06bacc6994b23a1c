import { jsonOf } from '../base/answer-body.ts';
import { type Post, Poster } from '../base/poster.ts';
import { visibleLine } from '../base/text.ts';

/** The answer of a receiver, or why there was none. */
export type Answer =
  | { readonly status: number; readonly body: string }
  | {
      readonly status?: undefined;
      readonly error: string;
      /** it did not answer in time */
      readonly isLate: boolean;
    };

export type NotificationRequest = Pick<Post, 'body' | 'timeoutMs' | 'writeBody'> & { readonly token: string };

/** Posts notifications to one receiver, as the provider does. */
export class ReceiverClient {
  readonly #url: URL;
  readonly #poster = new Poster();

  constructor(url: URL) {
    this.#url = url;
  }

  async post({ token, ...request }: NotificationRequest): Promise<Answer> {
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(request.body)),
      Authorization: `Bearer ${token}`,
    };
    const result = await this.#poster.post({ url: this.#url, headers, ...request });
    if (result.type === 'answered') return result;
    if (result.type === 'unanswered') return { error: result.error, isLate: false };
    return { error: `no answer within ${request.timeoutMs / 1000} s`, isLate: true };
  }

  close(): void {
    this.#poster.close();
  }
}

/** An answer in a word: `accepted`, `duplicate`, another status, or `failed: ...` if there was none. */
export function wordOf(answer: Answer): string {
  if (answer.status === undefined) return `failed: ${answer.error}`;
  if (answer.status !== 200) return String(answer.status);
  const { status } = Object(jsonOf(answer.body));
  return status === 'accepted' || status === 'duplicate' ? status : '200';
}

/** Why a receiver refused a notification, if its answer says so. */
export function reasonOf(answer: Answer): string | undefined {
  if (answer.status === undefined || answer.status === 200) return undefined;
  const { error } = Object(jsonOf(answer.body));
  return typeof error === 'string' ? visibleLine(error) : undefined;
}
