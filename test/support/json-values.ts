import fc from 'fast-check';

/** A JSON object as JSON.parse gives it. */
export type AnyObject = { readonly [member: string]: unknown };

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom(...'0 __proto__ toString exp iat a/b a~b \ud83d \u2028 \\" {'.split(' '), ''),
);
const values = [
  fc.constantFrom(null, true, false),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  text,
];

/** Any JSON object. Parsed from its text, so that nothing but JSON is in it. */
export const jsonObject: fc.Arbitrary<AnyObject> = fc
  .object({ key: text, values, maxDepth: 3, maxKeys: 5 })
  .map((value) => JSON.parse(JSON.stringify(value)));

/** Any JSON value. */
export const jsonValue: fc.Arbitrary<unknown> = jsonObject.map((value) => Object.values(value)[0] ?? null);

/** The same value with the members of every object in another order. */
export function shuffled(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(shuffled);
  const members = Object.entries(value).map(([member, inner]) => [member, shuffled(inner)]);
  return Object.fromEntries(members.reverse());
}
