export const LEASE_MS = 1500;

/** In another order in English than by their characters. */
export const RESOURCES = 'aBcd Bxyz aZ b0 C1 cc Dd dA E eF f Ga'.split(' ').map((name) => `media:${name}`);

/** What a process of the torture saw. */
export interface Line {
  readonly acked?: string;
  readonly at?: number;
  readonly replayed?: string;
  readonly overlap?: string;
  readonly forgot?: string;
  readonly claimed?: string;
  readonly resource?: string;
  readonly seq?: number;
  readonly first?: boolean;
  readonly askedAt?: number;
  readonly claimedAt?: number;
}
