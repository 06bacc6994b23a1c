import type { InputOf, Operations, OutputOf } from './protocol.ts';
import { type Calls, unavailable } from './thread-link.ts';

/** Opens the way to a connection when it is first used: a thread takes some 15 MB, and most have no visitors. */
export class OnDemand<O extends Operations> implements Calls<O> {
  readonly #open: () => Promise<Calls<O>>;
  #opened: Promise<Calls<O>> | undefined;
  #isClosed = false;

  constructor(open: () => Promise<Calls<O>>) {
    this.#open = open;
  }

  async call<N extends keyof O & string>(name: N, input: InputOf<O, N>): Promise<OutputOf<O, N>> {
    if (this.#isClosed) throw unavailable('the store is closed');
    this.#opened ??= this.#open().catch((error) => {
      this.#opened = undefined; // the next call tries again
      throw error;
    });
    return (await this.#opened).call(name, input);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.close();
  }
}
