/** A plain value as JSON or a form gives it. */
export type Scalar = string | number | boolean;

/** The value if it is plain; lists, objects, files and null are not, and count as not sent. */
export function scalar(value: unknown): Scalar | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : undefined;
}

/** The list if it is one and each of its elements is plain; else it counts as not sent. */
export function scalars(value: unknown): Scalar[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const plain = value.map(scalar).filter((one) => one !== undefined);
  return plain.length === value.length ? plain : undefined;
}

/** The integer at the beginning of a value, as Ruby reads it; 0 if there is none. */
export function leadingInteger(value: Scalar): number {
  const [digits] = /^\s*[+-]?\d+/.exec(String(value)) ?? ['0'];
  return Number(digits);
}

/** A value as a yes or no, as Rails reads it. */
export function truth(value: Scalar | undefined | null): boolean {
  return value != null && !['', '0', 'f', 'false', 'off'].includes(String(value).toLowerCase());
}

/** Whether a text is empty or only spaces. */
export function isBlank(value: Scalar | undefined | null): boolean {
  return value == null || String(value).trim() === '';
}
