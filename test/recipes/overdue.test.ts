import { expect, test } from '@jest/globals';
import { defineApp, retry } from '../../src/index.ts';
import { type OverdueOptions, overdue } from '../../src/recipes/overdue.ts';
import { type Happening, matrix, type Start, testReceiver } from '../../src/testing/index.ts';
import { size } from '../support/sizes.ts';

const HISTORIES = { random: size({ small: 2, full: 400 }), most: size({ small: 6, full: 400 }) };
const CRASHES = {
  random: size({ small: 0, full: 20 }),
  most: size({ small: 1, full: 20 }),
  crashes: 'every',
} as const;
const M = { media_id: 'UUhbHm6C' };
const CREATED: Happening = ['media_created', M];

/** An app that tells of media that are not available half an hour after their upload, and whom it has told of. */
function telling(options: Partial<OverdueOptions<'media_created', unknown>> = {}) {
  const told: string[] = [];
  const late = overdue({
    after: 'media_created',
    want: 'media_available',
    within: '30m',
    onOverdue: ({ media_id }) => void told.push(media_id),
    ...options,
  });
  return { app: defineApp({ handlers: {}, subscribers: { overdue: late } }), told };
}

test('a media that is late is told of once, when its time is over, and not again by a replay', async () => {
  const { app, told } = telling();
  await using kit = await testReceiver({ app });
  await kit.deliver('media_created', M);
  await kit.deliver('media_created', { media_id: 'in time' });
  await kit.handled();
  await kit.advance('20m');
  await kit.deliver('media_available', { media_id: 'in time' });
  await kit.advance('9m');
  expect(told).toEqual([]);
  await kit.advance('2m');
  expect(told).toEqual(['UUhbHm6C']);
  await kit.replay();
  await kit.advance('2h');
  await kit.replay({ kind: 'reminder' });
  await kit.advance('2h');
  expect(told).toEqual(['UUhbHm6C']);
});

test('a media that is available or deleted in time is not told of, in whatever order notifications come', async () => {
  for (const end of ['media_available', 'media_deleted'] as const)
    for (const options of [HISTORIES, CRASHES])
      await matrix(
        [CREATED, [end, M]],
        async (start) => {
          const at: number[] = [];
          const { app } = telling({ within: '3d', onOverdue: (_, ctx) => void at.push(ctx.now()) });
          await start({ app });
          return at;
        },
        async (kit, at) => {
          const [ended] = await kit.events({ kind: end, subscriber: 'overdue' });
          expect(at.filter((told) => told > Number(ended?.receivedAt))).toEqual([]);
        },
        options,
      );
});

test('a media that begins again after its end is waited for again, also where that end comes later', async () => {
  const happened: Happening[] = [
    ['media_reuploaded', M],
    ['media_available', M],
    ['media_reuploaded', M],
  ];
  const scenario = async (start: Start) => {
    const told = new Set<string>();
    const late = overdue({
      after: 'media_reuploaded',
      want: 'media_available',
      within: '3d',
      onOverdue: ({ event_time }) => void told.add(event_time),
    });
    await start({ app: defineApp({ handlers: {}, subscribers: { overdue: late } }) });
    return told;
  };
  for (const options of [HISTORIES, CRASHES])
    await matrix(
      happened,
      scenario,
      (_kit, told) => {
        expect([...told].at(-1)).toBe('2026-01-01T00:00:02+00:00');
      },
      options,
    );
});

test('`unless` is asked when the time is over, and onOverdue may end as every handler', async () => {
  let starts = 0;
  const { app } = telling({
    unless: ({ media_id }) => media_id === 'planned',
    onOverdue: () => (++starts < 3 ? retry({ after: 60_000, reason: 'nobody is there' }) : undefined),
  });
  await using kit = await testReceiver({ app });
  for (const media_id of ['planned', 'late']) await kit.deliver('media_created', { media_id });
  await kit.handled();
  await kit.advance('40m');
  expect(starts).toBe(3);
  const ends = await kit.events({ kind: 'reminder', subscriber: 'overdue' });
  expect(ends.map(({ resource, status }) => `${resource} ${status}`).toSorted()).toEqual([
    'media:late handled',
    'media:planned skipped',
  ]);
});

test('a `within` that is no length of time is refused', () => {
  expect(() => telling({ within: 'soon' })).toThrow('overdue: within must be a time such as 30m, not soon');
});
