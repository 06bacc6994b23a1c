import { jsonOf } from '../base/answer-body.ts';
import { type Post, Poster } from '../base/poster.ts';
import { visibleLine } from '../base/visible.ts';

/** The answer of a receiver, or why there was none. */
export type Answer =
  | { readonly status: number; readonly body: string }
  | {
      readonly status?: undefined;
      readonly error: string;
      /** it did not answer in time */
      readonly isLate?: true;
    };

export type NotificationRequest = Pick<Post, 'body' | 'timeoutMs' | 'writeBody'> & { readonly token: string };

/** Posts notifications to one receiver, as the provider does. */
export class ReceiverClient {
  readonly #url: URL;
  readonly #poster = new Poster();

  constructor(url: URL) {
    this.#url = url;
  }

  async post({ body, token, timeoutMs, writeBody }: NotificationRequest): Promise<Answer> {
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      Authorization: `Bearer ${token}`,
    };
    const result = await this.#poster.post({ url: this.#url, headers, body, timeoutMs, writeBody });
    switch (result.type) {
      case 'answered':
        return { status: result.status, body: result.body };
      case 'unanswered':
        return { error: result.error };
      case 'timed out':
        return { error: `no answer within ${timeoutMs / 1000} s`, isLate: true };
    }
  }

  close(): void {
    this.#poster.close();
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
  return Object(jsonOf(body));
}
