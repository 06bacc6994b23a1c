import { describe, expect, test } from '@jest/globals';
import { combineHandlers, defineHandlers, fail, retry, skip } from '../../src/dispatch/handler.ts';

const nothing = async () => {};

describe('combineHandlers', () => {
  test('has every handler, when several files give different kinds', () => {
    const media = defineHandlers({ media_created: nothing, media_deleted: async () => skip('no') });
    const rest = defineHandlers({ channel_idle: nothing, unknown: nothing });
    expect(combineHandlers(media, rest)).toEqual({ ...media, ...rest });
  });

  test('has none, when none is given', () => {
    expect(combineHandlers()).toEqual({});
  });

  test('has the one that there is, when another object has nothing for its kind', () => {
    const none = { media_created: undefined } as object;
    const one = { media_created: nothing };
    expect(combineHandlers(none, one)).toEqual(one);
    expect(combineHandlers(one, none)).toEqual(one);
  });

  test('throws, when handlers are a promise, which has none', () => {
    expect(() => combineHandlers(Promise.resolve({ media_created: nothing }) as object)).toThrow(
      new TypeError('handlers to combine are a promise: await it'),
    );
  });

  test.each(['media_created', 'unknown'] as const)(
    'throws, when two files handle %s, and names it',
    (kind) => {
      const parts = [defineHandlers({ [kind]: nothing }), defineHandlers({ [kind]: nothing })];
      expect(() => combineHandlers(...parts)).toThrow(
        new TypeError(`two handlers for ${kind}: combine them`),
      );
    },
  );
});

describe('outcomes', () => {
  test('carry their arguments, when a handler makes them, and leave the rest to the backoff', () => {
    expect(skip('not for us')).toEqual({ type: 'skip', reason: 'not for us' });
    expect(fail('never')).toEqual({ type: 'fail', reason: 'never' });
    expect(retry({ after: 5000, reason: 'not yet' })).toEqual({
      type: 'retry',
      reason: 'not yet',
      after: 5000,
    });
    expect(retry({ reason: 'not yet' })).toEqual({ type: 'retry', reason: 'not yet', after: undefined });
  });
});
