export const FAULTS = ['forged', 'alg-none', 'tampered', 'iat', 'oversized', 'truncated', 'slow'] as const;

/** A way in which a notification can be broken; a receiver must refuse each of them. */
export type Fault = (typeof FAULTS)[number];

export const FAULT_HELP: Readonly<Record<Fault, string>> = {
  forged: 'signed with a secret that nobody knows',
  'alg-none': 'with a token that says it needs no signature',
  tampered: 'changed after it was signed',
  iat: 'with a claim in the token that the body does not have',
  oversized: 'one byte larger than BODY_LIMIT',
  truncated: 'cut off in the middle of its body',
  slow: 'with a body that comes a byte a second',
};

/** Those that send another body than the one they are given. */
export const CHANGES_BODY: ReadonlySet<Fault> = new Set(['tampered', 'iat', 'oversized', 'truncated']);
