import { KitError } from '../../base/errors.ts';
import { shown } from '../../base/thrown.ts';
import type { InputOf, Operations, OutputOf, StoreLink } from '../link.ts';
import { unavailable } from '../refusals.ts';
import type { Replies } from './protocol.ts';
import type { StoreRequest } from './request-queue.ts';

/** Opens the link to a connection with its first request: a thread takes some 15 MB, and many stores need no queries. */
export class LazyLink<O extends Operations> implements StoreLink<O> {
  readonly #open: () => Promise<StoreLink<O>>;
  #opened: Promise<StoreLink<O>> | undefined;
  #isClosed = false;

  constructor(open: () => Promise<StoreLink<O>>) {
    this.#open = open;
  }

  async request<N extends keyof O & string>(name: N, input: InputOf<O, N>): Promise<OutputOf<O, N>> {
    if (this.#isClosed) throw unavailable('the store is closed');
    this.#opened ??= this.#open().catch((error) => {
      this.#opened = undefined; // the next request tries again
      throw error;
    });
    return (await this.#opened).request(name, input);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.close();
  }
}

/** The reply in place of an output that cannot be passed back. What the request had to write is written. */
export function unstorableOutput(cause: unknown): Failed {
  return {
    error: { message: `the store cannot give back what it found (${shown(cause)})`, code: UNSTORABLE },
  };
}

const UNSTORABLE = 'VALUE_UNSTORABLE';

type Failed = Extract<Replies[number], { readonly error: object }>;

/** The error of a request, by the reply to it. */
function errorOf(reply: Failed | undefined): KitError {
  if (reply?.error.code === UNSTORABLE) return new KitError(UNSTORABLE, reply.error.message);
  return unavailable(reply?.error.message ?? 'no reply');
}

/** Answers each request by the reply in its place. */
export function answerAll(requests: readonly StoreRequest[], replies: Replies): void {
  for (const [index, request] of requests.entries()) {
    const reply = replies[index];
    if (reply && 'output' in reply) request.resolve(reply.output);
    else request.reject(errorOf(reply));
  }
}

/** A copy of a reply, as a message holds it; an error in its place if it cannot be copied. */
export function copyOfReply(reply: Replies[number]): Replies[number] {
  try {
    return structuredClone(reply);
  } catch (cause) {
    return unstorableOutput(cause);
  }
}
