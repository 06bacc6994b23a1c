/** What suites have started, as how to end it. */
const started = new Set<() => void>();

/** Has something ended after the suite, at once, in case a test fails before it ends it. Gives back how to forget it. */
export function endAfterSuite(end: () => void): () => void {
  started.add(end);
  return () => void started.delete(end);
}

/** Ends what is left: a process that goes on would keep Jest from its end. */
export function endWhatIsLeft(): void {
  for (const end of started) end();
  started.clear();
}
