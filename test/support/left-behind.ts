import { afterAll } from '@jest/globals';

/** What the suite has started, as how to end it. */
const started = new Set<() => void>();

/** Has something ended after the suite, at once, in case a test fails before it ends it. Gives back how to forget it. */
export function endAfterSuite(end: () => void): () => void {
  started.add(end);
  return () => void started.delete(end);
}

// A process that goes on would keep Jest from its end.
afterAll(() => {
  for (const end of started) end();
});
