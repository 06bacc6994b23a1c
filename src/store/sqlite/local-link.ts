import { setImmediate } from 'node:timers/promises';
import { messageOf } from '../../base/errors.ts';
import { type Connection, type Mode, openConnection } from './connection.ts';
import type { InputOf, Operations, OutputOf } from './protocol.ts';
import {
  errorOf,
  type StoreLink,
  unavailable,
  unopened,
  unstorableInput,
  unstorableOutput,
} from './store-link.ts';

/** Commands read events once, so a large cache would only use memory. */
const CACHE_KIB = 2048;

/**
 * Does the work of a store thread on the calling thread: for commands, which have nothing else to do meanwhile, and
 * which start in half the time and memory without threads.
 */
export class LocalLink<O extends Operations> implements StoreLink<O> {
  readonly #connection: Connection;
  readonly #underWay = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** @throws KitError STORE_UNUSABLE if the database cannot be opened */
  static async open<O extends Operations>(path: string, mode: Mode): Promise<LocalLink<O>> {
    try {
      return new LocalLink<O>(await openConnection(path, mode, CACHE_KIB));
    } catch (error) {
      throw unopened(path, messageOf(error));
    }
  }

  async request<N extends keyof O & string>(name: N, input: InputOf<O, N>): Promise<OutputOf<O, N>> {
    if (this.#closed) throw unavailable('the store is closed');
    const request = this.#run(name, input);
    this.#underWay.add(request);
    return request.finally(() => this.#underWay.delete(request));
  }

  async #run<N extends keyof O & string>(name: N, input: InputOf<O, N>): Promise<OutputOf<O, N>> {
    await setImmediate(); // signals and timers come through between long series of requests
    const [reply] = this.#connection.run([{ name, input: copyOf(name, input) }]);
    if (reply && 'output' in reply) return copyBack(reply.output) as OutputOf<O, N>;
    throw errorOf(reply);
  }

  close(): Promise<void> {
    this.#closed ??= Promise.allSettled(this.#underWay).then(() => this.#connection.close());
    return this.#closed;
  }
}

/** A copy, as a thread gets: what no thread could take is refused here too. */
function copyOf(name: string, input: unknown): unknown {
  try {
    return structuredClone(input);
  } catch (cause) {
    throw unstorableInput(name, cause);
  }
}

function copyBack(output: unknown): unknown {
  try {
    return structuredClone(output);
  } catch (cause) {
    throw errorOf(unstorableOutput(cause));
  }
}
