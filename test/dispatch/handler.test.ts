import { describe, expect, test } from '@jest/globals';
import { combineHandlers, defineHandlers, skip } from '../../src/dispatch/handler.ts';

const nothing = async () => {};

describe('combineHandlers', () => {
  test('has every handler, when several files give different kinds', () => {
    const media = defineHandlers({ media_created: nothing, media_deleted: async () => skip('no') });
    const rest = defineHandlers({ channel_idle: nothing, unknown: nothing });
    expect(combineHandlers(media, rest)).toEqual({ ...media, ...rest });
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

  test('throws, when two files handle one kind, and names it', () => {
    const one = defineHandlers({ unknown: nothing });
    expect(() => combineHandlers(one, one)).toThrow(new TypeError('two handlers for unknown: combine them'));
  });
});
