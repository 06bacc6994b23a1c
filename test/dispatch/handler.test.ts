import { describe, expect, test } from '@jest/globals';
import { combineHandlers, defineHandlers, skip } from '../../src/dispatch/handler.ts';

const nothing = async () => {};

describe('combineHandlers', () => {
  test('has every handler, when several files give different kinds', () => {
    const media = defineHandlers({ media_created: nothing, media_deleted: async () => skip('no') });
    const rest = defineHandlers({ channel_idle: nothing, unknown: nothing });
    expect(combineHandlers(media, rest)).toEqual({ ...media, ...rest });
  });

  test('throws, when two files handle one kind, and names it', () => {
    const one = defineHandlers({ unknown: nothing });
    expect(() => combineHandlers(one, one)).toThrow(new TypeError('two handlers for unknown: combine them'));
  });
});
