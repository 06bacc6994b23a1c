import { idleDispatcher } from './dispatch-all.ts';
import { openOurs } from './our-store.ts';

/** What one of several processes on the same database has done since it was told to begin. */
export interface Share {
  readonly handled: number;
  /** microseconds of processor time */
  readonly cpuMicros: number;
}

/** How often it tells, in milliseconds. */
const TELL_MS = 5;

// Handles what there is, from the first message on. Ends with the one that started it.
const { url }: { readonly url: string } = JSON.parse(process.argv[2] ?? '{}');
const store = await openOurs(url);
let handled = 0;
let told = 0;
const dispatcher = idleDispatcher(store, { onRan: () => void handled++ });
process.on('disconnect', () => process.exit());
process.on('message', () => {
  const before = process.cpuUsage();
  dispatcher.start();
  setInterval(() => {
    if (handled === told) return;
    told = handled;
    const { user, system } = process.cpuUsage(before);
    process.send?.({ handled, cpuMicros: user + system } satisfies Share);
  }, TELL_MS);
});
process.send?.('ready');
