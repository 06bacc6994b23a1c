import { describe, expect, test } from '@jest/globals';
import { isKind, KINDS, kindNames } from '../../src/notification/kinds.ts';

/** The table of events of the provider's specification: the kind, and the ids beside the common members. */
const SPECIFICATION = [
  ['media_created', ['media_id']],
  ['media_available', ['media_id']],
  ['conversions_complete', ['media_id']],
  ['media_updated', ['media_id']],
  ['media_reuploaded', ['media_id']],
  ['media_deleted', ['media_id']],
  ['thumbnail_created', ['thumbnail_id', 'media_id']],
  ['thumbnail_deleted', ['thumbnail_id', 'media_id']],
  ['track_created', ['track_id', 'media_id']],
  ['track_deleted', ['track_id', 'media_id']],
  ['channel_created', ['channel_id']],
  ['channel_active', ['channel_id']],
  ['channel_idle', ['channel_id']],
];

describe('the table of kinds', () => {
  test('lists kinds and ids, compared with the specification, exactly and in its order', () => {
    expect(Object.entries(KINDS).map(([kind, { ids }]) => [kind, ids])).toEqual(SPECIFICATION);
    expect(kindNames).toEqual(SPECIFICATION.map(([kind]) => kind));
  });

  test('puts a kind into a group, for the files of handlers, by what it is about', () => {
    const groups = Object.entries(KINDS).map(([kind, { group }]) => [kind.split('_')[0], group]);
    const expected = {
      media: 'media',
      conversions: 'media',
      thumbnail: 'thumbnails',
      track: 'tracks',
      channel: 'channels',
    };
    expect(new Map(groups.map(([first, group]) => [first, group]))).toEqual(
      new Map(Object.entries(expected)),
    );
  });
});

describe('isKind', () => {
  test.each(kindNames)('takes %s, being in the table, as a kind', (kind) => {
    expect(isKind(kind)).toBe(true);
  });

  test.each([
    'media_archived',
    'MEDIA_CREATED',
    ' media_created',
    '',
    '__proto__',
    'constructor',
    'toString',
    undefined,
    null,
    1,
    ['media_created'],
  ])('takes %p, not being in the table, for no kind', (name) => {
    expect(isKind(name)).toBe(false);
  });
});
