import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { onceOf } from '../../src/dispatch/once.ts';
import type { EventId } from '../../src/store/event-id.ts';

const ID = 'event-1' as EventId;

/** `ctx.once` of one event over steps in memory. */
function onceInMemory() {
  const steps = new Map<string, string | null>();
  const store = {
    async step(_id: EventId, name: string) {
      const result = steps.get(name);
      return result === undefined ? undefined : { result };
    },
    async saveStep(_id: EventId, name: string, result: string | null) {
      if (!steps.has(name)) steps.set(name, result);
    },
  };
  return { steps, once: () => onceOf(store, ID) };
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
      await once()('announce', step);
      expect(JSON.stringify(await once()('announce', step))).toBe(JSON.stringify(value));
      expect(runs).toBe(1);
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
