import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../../support/sizes.ts';
import { SITE, useStage } from '../support/stage.ts';

const stage = useStage();

describe('a live channel', () => {
  test('is idle, when it is created, which sends channel_created and no channel_idle', async () => {
    stage.webhook();
    const channel = stage.mock.createChannel({ site_id: SITE, channel_id: 'YijbmYHJ' });
    expect(channel).toEqual({ channel_id: 'YijbmYHJ', site_id: SITE, state: 'idle' });
    stage.mock.idleChannel('YijbmYHJ');
    await stage.mock.settled();
    expect(stage.receiver.events()).toEqual(['channel_created']);
  });

  test('sends an event for each change of state, in any sequence of verbs, and for nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom('active', 'idle'), { maxLength: 20 }), async (states) => {
        stage.mock.reset();
        stage.receiver.received.length = 0;
        stage.webhook();
        const { channel_id } = stage.mock.createChannel({ site_id: SITE });
        for (const state of states) {
          if (state === 'active') stage.mock.activateChannel(channel_id);
          else stage.mock.idleChannel(channel_id);
        }
        await stage.mock.settled();
        const changes = states.filter((state, i) => state !== (states[i - 1] ?? 'idle'));
        expect(stage.receiver.events()).toEqual([
          'channel_created',
          ...changes.map((state) => `channel_${state}`),
        ]);
      }),
      { numRuns: runs(50) },
    );
  });

  test('is refused, when its id is taken, and is not found, when it was not created', () => {
    stage.mock.createChannel({ site_id: SITE, channel_id: 'YijbmYHJ' });
    expect(() => stage.mock.createChannel({ site_id: SITE, channel_id: 'YijbmYHJ' })).toThrow('already');
    expect(() => stage.mock.activateChannel('t8JLGRl9')).toThrow('there is no channel t8JLGRl9');
  });
});
