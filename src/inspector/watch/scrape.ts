import { within } from '../../base/clock.ts';
import { isUnavailable, messageOf } from '../../base/errors.ts';
import type { AdminNeeds } from '../../observer.ts';
import type { EventStore, Overview } from '../../store/event-store.ts';

interface ScrapeParts extends Pick<AdminNeeds, 'clock' | 'log'> {
  readonly store: Pick<EventStore, 'overview'>;
}

/** Prometheus gives up after 10 seconds, and would lose the metrics of the process too. */
const PATIENCE_MS = 5000;

/** Asks the store for its part of the metrics; undefined if it fails or does not answer in time. */
export async function scrape({ store, clock, log }: ScrapeParts): Promise<Overview | undefined> {
  const asked = store.overview().catch((error) => {
    if (!isUnavailable(error))
      log.error({ error: messageOf(error), path: '/metrics' }, 'admin request failed');
    return undefined;
  });
  return within(clock, PATIENCE_MS, asked);
}
