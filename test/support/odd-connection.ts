import type { Batch, Connection, Replies } from '../../src/store/threads/protocol.ts';

/** What an operation could give back by mistake. */
export const ODD_OUTPUTS = {
  function: () => () => {},
  symbol: () => ({ member: Symbol('odd') }),
  'a getter that throws': () => ({
    get member() {
      throw new Error('not now');
    },
  }),
  'a proxy': () => new Proxy({}, {}),
  // A thread can post this, since its stack is the larger one, and the main thread cannot read it.
  'what is nested too deeply': () => nested(7000),
  'what is nested far too deeply': () => nested(1_000_000),
} as const;

/** The operations of an OddConnection. */
export type OddOperations = {
  readonly echo: (input: unknown) => unknown;
  readonly odd: (name: keyof typeof ODD_OUTPUTS) => unknown;
};

/** A connection that remembers nothing: `echo` gives back its input, `odd` one of the odd outputs. */
export class OddConnection implements Connection {
  async run(batch: Batch): Promise<Replies> {
    return batch.map(({ name, input }) => ({
      output: name === 'odd' ? ODD_OUTPUTS[input as keyof typeof ODD_OUTPUTS]() : input,
    }));
  }

  close(): void {}
}

/** An array in an array in an array, and so on. */
export function nested(depth: number): unknown[] {
  let all: unknown[] = [];
  for (let level = 0; level < depth; level++) all = [all];
  return all;
}
