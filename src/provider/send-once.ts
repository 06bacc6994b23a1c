import { AnswerTooLong, textOf } from '../base/answer-body.ts';

/** An answer, read to its end. */
export interface Answer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: Headers;
  /** undefined if it was too long to read */
  readonly text: string | undefined;
}

/** No answer. */
export interface NoAnswer {
  readonly kind: 'no answer';
  readonly code: 'unreachable' | 'timed_out';
  readonly reason: string;
  /** Whether it is certain that the provider has not seen the request. */
  readonly unseen: boolean;
  readonly cause: unknown;
}

/** The outcome of sending a request once. */
export type Outcome = Answer | NoAnswer;

/** A request to send once. */
export interface Sending {
  readonly url: string;
  readonly init: RequestInit;
  readonly fetch: typeof fetch;
  /** Calls back after the time-out; the function returned cancels it. */
  readonly onTimeout: (fn: () => void) => () => void;
  readonly signal: AbortSignal | undefined;
}

/** Sends a request once. @throws the reason of `signal`, once that is aborted */
export async function sendOnce({ url, init, fetch, onTimeout, signal }: Sending): Promise<Outcome> {
  signal?.throwIfAborted();
  // Not within the try, so that a header that cannot be sent is not taken for a connection that was lost.
  const headers = new Headers(init.headers);
  const timeout = new AbortController();
  const cancel = onTimeout(() => timeout.abort());
  try {
    const either = AbortSignal.any(signal ? [timeout.signal, signal] : [timeout.signal]);
    const response = await fetch(url, { ...init, headers, redirect: 'manual', signal: either });
    const text = await textOf(response).catch((error) => {
      if (error instanceof AnswerTooLong) return undefined;
      throw error;
    });
    return { kind: 'answer', status: response.status, headers: response.headers, text };
  } catch (cause) {
    signal?.throwIfAborted();
    if (timeout.signal.aborted) {
      return { kind: 'no answer', code: 'timed_out', reason: 'no answer in time', unseen: false, cause };
    }
    const code = codeOf(cause);
    const reason = code === undefined ? 'the connection failed' : `the connection failed (${code})`;
    return { kind: 'no answer', code: 'unreachable', reason, unseen: UNCONNECTED.has(code ?? ''), cause };
  } finally {
    cancel();
  }
}

/** With these, no connection came about, so that nothing can have been sent. */
const UNCONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** The system's code of a failure, which fetch puts into the cause of its own error. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return 'cause' in error ? codeOf(error.cause) : undefined;
}
