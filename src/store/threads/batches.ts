import { messageOf } from '../../base/errors.ts';
import type { Batch, BoundOperations, Replies } from './protocol.ts';

/** Does requests in their order, and gives their outputs. @throws the error of the first that fails */
export type Operate = (batch: Batch) => Promise<readonly unknown[]>;

/** Requests of one name that follow each other are done together, where the operation can do that. */
export function inOrder(operations: BoundOperations): Operate {
  return async (batch) => {
    const outputs: unknown[] = [];
    for (let index = 0; index < batch.length; ) {
      const name = batch[index]?.name ?? '';
      const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
      if (!operation) throw new Error(`no operation ${name}`);
      const inputs: never[] = [];
      do inputs.push(batch[index++]?.input as never);
      while (operation.many && batch[index]?.name === name);
      if (operation.many) outputs.push(...(await operation.many(inputs)));
      else outputs.push(await operation.one(inputs[0] as never));
    }
    return outputs;
  };
}

/** The replies to requests that are done together: their outputs, or one error. */
export async function attempt(run: () => Promise<readonly unknown[]>): Promise<Replies> {
  try {
    return (await run()).map((output) => ({ output }));
  } catch (error) {
    return [failure(error)];
  }
}

/** Does requests apart from each other, in their order. */
export async function oneByOne(
  batch: Batch,
  run: (one: Batch[number]) => Promise<Replies>,
): Promise<Replies> {
  const replies: Replies[number][] = [];
  for (const one of batch) replies.push(...(await run(one)));
  return replies;
}

/** The reply to a request that failed. */
export function failure(error: unknown): Replies[number] {
  return { error: { message: messageOf(error), code: codeOf(error) } };
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
