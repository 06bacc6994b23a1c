import fc from 'fast-check';

/** The code points of surrogates: no character has one. */
const SURROGATES = { first: 0xd800, count: 0x800 };
const CHARACTERS = 0x110000 - SURROGATES.count;

/**
 * Any character of Unicode, for `unit` of fc.string(). fast-check's own, `unit: 'binary'`, makes a table of all million of
 * them in each process, which takes a second and 100 MB.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat({ max: CHARACTERS - 1 }).map(
  (number) => String.fromCodePoint(number < SURROGATES.first ? number : number + SURROGATES.count),
  (character) => {
    const [only, ...others] = String(character);
    const point = only?.codePointAt(0) ?? Number.NaN;
    const isSurrogate = point >= SURROGATES.first && point < SURROGATES.first + SURROGATES.count;
    if (only === undefined || others.length > 0 || isSurrogate) throw new Error('not one character');
    return point < SURROGATES.first ? point : point - SURROGATES.count;
  },
);
