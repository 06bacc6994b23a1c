import { expect, test } from '@jest/globals';
import {
  keepingMarker,
  markerOf,
  replacedBy,
  withMarker,
  withoutMarker,
} from '../../src/rotation/successor-mark.ts';

test.each(['', 'of the main site', 'has [brackets] and: colons'])(
  'gives the description back as it was, when %j is marked and unmarked',
  (description) => {
    for (const whole of [true, false]) {
      const marked = withMarker(description, { replaces: '2yW4KmiG', whole });
      expect(markerOf(marked)).toEqual({ replaces: '2yW4KmiG', whole });
      expect(replacedBy(marked)).toBe('2yW4KmiG');
      expect(withoutMarker(marked)).toBe(description);
    }
  },
);

test('has one mark, when it is marked again', () => {
  const marked = withMarker('d', { replaces: '2yW4KmiG', whole: false });
  expect(withMarker(marked, { replaces: '2yW4KmiG', whole: true })).toBe('d [hookkit: replaces 2yW4KmiG]');
});

test('is no mark, when it stands elsewhere than at the end', () => {
  expect(markerOf('[hookkit: replaces 2yW4KmiG] was here')).toBeUndefined();
});

test('keeps the mark, when the description is changed half-way', () => {
  expect(keepingMarker('a [hookkit: replaces x1]', 'b')).toBe('b [hookkit: replaces x1]');
  expect(keepingMarker('a', 'b')).toBe('b');
  expect(keepingMarker('a [hookkit: replaces x1]')).toBe('a [hookkit: replaces x1]');
});
