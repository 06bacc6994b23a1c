import { isLoopback } from './request-origin.ts';

/** The beginning of a secret that follows from a seed: everybody who knows that seed can sign with it. */
export const SEEDED_MARK = 'mock-';

/** Whether a secret follows from a seed where other machines reach the receiver: it verifies nothing there. */
export function isSeededInPublic(
  secret: string,
  { HOST, TRUST_PROXY }: { readonly HOST: string; readonly TRUST_PROXY: number },
): boolean {
  return secret.startsWith(SEEDED_MARK) && !(isLoopback(HOST) && TRUST_PROXY === 0);
}

export const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Numbers in [0, 1) that look random and are the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
