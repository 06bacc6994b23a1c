import { describe, expect, test } from '@jest/globals';
import {
  combineHandlers,
  defineApp,
  defineHandlers,
  type Handlers,
  skip,
} from '../../src/dispatch/handler.ts';

const nothing = async () => {};

describe('combineHandlers', () => {
  test('has every handler, when several files give different kinds', () => {
    const media = defineHandlers({ media_created: nothing, media_deleted: async () => skip('no') });
    const rest = defineHandlers({ channel_idle: nothing, unknown: nothing });
    expect(combineHandlers(media, rest)).toEqual({ ...media, ...rest });
  });

  test('expects of ctx.app what all files expect together', () => {
    const page = defineHandlers<{ cms: string }>({ media_created: nothing });
    const alarm = defineHandlers<{ chat: number }>({ unknown: nothing });
    const start = () => ({ app: { cms: 'https://cms.test', chat: 7 } });
    const inPlace = combineHandlers(page, alarm, { channel_idle: (_event, ctx) => skip(ctx.id) });
    expect(defineApp({ start, handlers: inPlace }).handlers).toBe(inPlace);
    // @ts-expect-error: the app lacks what `alarm` expects
    const tooLittle: Handlers<{ cms: string }> = combineHandlers(page, alarm);
    expect(Object.keys(tooLittle)).toEqual(['media_created', 'unknown']);
  });

  test('throws, when two files handle one kind, and names it', () => {
    const one = defineHandlers({ unknown: nothing });
    expect(() => combineHandlers(one, one)).toThrow(
      new TypeError('two handlers for unknown: write one for both'),
    );
  });
});
