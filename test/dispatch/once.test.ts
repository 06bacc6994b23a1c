import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { onceOf } from '../../src/dispatch/once.ts';
import { anyCharacter } from '../support/any-character.ts';

/** `ctx.once` of one event over steps in memory. */
function onceInMemory() {
  const steps = new Map<string, string | null>();
  const step = async (name: string) => {
    const result = steps.get(name);
    return result === undefined ? undefined : { result };
  };
  const store = {
    step,
    holds: async () => true,
    async saveStep(name: string, result: string | null) {
      if (!steps.has(name)) steps.set(name, result);
      return step(name);
    },
  };
  const unstorable: string[] = [];
  return {
    steps,
    unstorable,
    once: () =>
      onceOf({
        store,
        signal: new AbortController().signal,
        patiently: (request) => request(),
        onUnstorable: (reason) => void unstorable.push(reason),
      }).once,
  };
}

describe('once', () => {
  test('runs a step, when it was not done yet, and gives its result', async () => {
    const { once } = onceInMemory();
    expect(await once()('announce', () => 42)).toBe(42);
    expect(await once()('other', async () => 'later')).toBe('later');
  });

  test('gives any JSON result back, when the step was done, without running it again', async () => {
    const property = fc.asyncProperty(fc.jsonValue({ noUnicodeString: false }), async (value) => {
      const { once } = onceInMemory();
      let runs = 0;
      const step = () => {
        runs++;
        return value;
      };
      const first = await once()('announce', step);
      expect(await once()('announce', step)).toStrictEqual(first);
      expect(JSON.stringify(first)).toBe(JSON.stringify(value));
      expect(runs).toBe(1);
    });
    await fc.assert(property);
  });

  test('gives the stored result or ends the event, when the step returns anything at all, and runs it once', async () => {
    const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true });
    const property = fc.asyncProperty(anything, async (value) => {
      const { once, steps, unstorable } = onceInMemory();
      let runs = 0;
      const step = () => {
        runs++;
        return value;
      };
      const first = await once()('announce', step).catch((error: Error) => error);
      if (unstorable.length > 0) {
        expect(first).toMatchObject({ message: unstorable[0] });
        return expect(steps.size).toBe(0);
      }
      expect(await once()('announce', step)).toStrictEqual(first);
      expect(runs).toBe(1);
    });
    await fc.assert(property);
  });

  test('takes a name or refuses it before the step runs, when it is anything at all', async () => {
    const name = fc.oneof(
      fc.string({ maxLength: 250, unit: anyCharacter }),
      fc.string({ minLength: 195, maxLength: 205, unit: 'grapheme' }),
      fc.anything(),
    );
    const property = fc.asyncProperty(name, async (given) => {
      const { once, steps } = onceInMemory();
      const taken =
        typeof given === 'string' && given !== '' && [...given].length <= 200 && !given.includes('\0');
      let runs = 0;
      const asked = once()(given as string, () => ++runs);
      if (taken) expect(await asked).toBe(1);
      else await expect(asked).rejects.toThrow('the name of a step of ctx.once must be');
      expect([runs, steps.size]).toEqual(taken ? [1, 1] : [0, 0]);
    });
    await fc.assert(property);
  });

  test('gives nothing back, when the step returned nothing, without running it again', async () => {
    const { once } = onceInMemory();
    let runs = 0;
    const step = async () => void runs++;
    expect(await once()('announce', step)).toBeUndefined();
    expect(await once()('announce', step)).toBeUndefined();
    expect(runs).toBe(1);
  });

  test('stores nothing, when the step throws, and runs it again', async () => {
    const { once, steps } = onceInMemory();
    let runs = 0;
    const step = () => {
      if (runs++ === 0) throw new Error('not yet');
      return runs;
    };
    await expect(once()('announce', step)).rejects.toThrow('not yet');
    expect(steps.size).toBe(0);
    expect(await once()('announce', step)).toBe(2);
  });

  test('keeps steps apart, when their names differ', async () => {
    const { once } = onceInMemory();
    expect(await Promise.all(['a', 'b'].map((name) => once()(name, () => name)))).toEqual(['a', 'b']);
  });

  test('is refused at once, when the step asks for itself, and takes one of another name within', async () => {
    const once = onceInMemory().once();
    const itself = once('outer', () => once('inner', () => once('outer', () => 1)));
    await expect(itself).rejects.toThrow('the step "outer" of ctx.once asks for itself');
    expect(await once('outer', () => once('inner', () => 2))).toBe(2);
  });

  test.each([
    [undefined, 'undefined'],
    ['charge', "'charge'"],
    [Promise.resolve(1), 'Promise'],
  ])('is refused, when the step is no function but %p', async (step, shown) => {
    const { once } = onceInMemory();
    // @ts-expect-error of JavaScript
    const asked = once()('charge', step);
    await expect(asked).rejects.toThrow(
      new TypeError(
        `the step "charge" of ctx.once must be a function, as in () => send(), and this one is ${shown}${shown === 'Promise' ? ' { 1 }' : ''}`,
      ),
    );
  });

  test('runs a step once, when one handler asks for it twice at the same moment', async () => {
    const { once } = onceInMemory();
    const ask = once();
    let runs = 0;
    const step = async () => ++runs;
    expect(await Promise.all([ask('announce', step), ask('announce', step)])).toEqual([1, 1]);
    expect(runs).toBe(1);
  });

  test.each([() => {}, Symbol('no data'), 1n, circle()])(
    'refuses a result, when it is not data, and names the step',
    async (result) => {
      const { once, steps } = onceInMemory();
      await expect(once()('announce', () => result)).rejects.toThrow(/"announce".*JSON/);
      expect(steps.size).toBe(0);
    },
  );
});

function circle(): object {
  const made: { self?: object } = {};
  made.self = made;
  return made;
}
