import fc from 'fast-check';
import { anyCharacter } from './any-character.ts';

/** A JSON object as JSON.parse gives it. */
export type AnyObject = { readonly [member: string]: unknown };

const name = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'exp', 'nbf', 'iat', 'aud', 'a/b', 'a~b', '', '0'),
);

const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.constantFrom('\ud83d', '\ude00', '\u2028', '"', '\\', '\\"', ':', '{', '1e400'),
);

const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
  fc.integer(),
  fc.maxSafeInteger(),
);

const { object } = fc.letrec<{ value: unknown; object: AnyObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    number,
    text,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  // Parsed from entries, as assigning a member named __proto__ would not make one.
  object: fc
    .array(fc.tuple(name, tie('value')), { maxLength: 5 })
    .map((entries) => Object.fromEntries(entries) as AnyObject),
}));

/** Any JSON object. Parsed from its text, so that nothing but JSON is in it. */
export const jsonObject: fc.Arbitrary<AnyObject> = object.map((value) => JSON.parse(JSON.stringify(value)));

/** Any JSON value. */
export const jsonValue: fc.Arbitrary<unknown> = jsonObject.map((value) => Object.values(value)[0] ?? null);

/** The same value with the members of every object in another order. */
export function shuffled(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(shuffled);
  // Names that look like whole numbers keep their place in any object; the others are turned round.
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([member, inner]) => [member, shuffled(inner)]),
  );
}

/** The same value as a text with spaces wherever JSON allows them. */
export function spaced(value: unknown): string {
  if (typeof value !== 'object' || value === null) return ` ${JSON.stringify(value)}\n`;
  if (Array.isArray(value)) return `\t[ ${value.map(spaced).join(' , ')} ] `;
  const members = Object.entries(value).map(
    ([member, inner]) => `${JSON.stringify(member)} : ${spaced(inner)}`,
  );
  return ` { ${members.join('\r\n,')} } `;
}
