import type { MockProvider } from '../../src/mock/index.ts';

/** Traffic that never stops: a new live channel every few milliseconds. Each sends one notification to every webhook of the site. */
export function startTraffic(mock: MockProvider, site: string, everyMs = 4) {
  let count = 0;
  const timer = setInterval(() => {
    mock.createChannel({ site_id: site });
    count++;
  }, everyMs);
  return {
    /** how many things have happened */
    get count() {
      return count;
    },
    /** Ends it, and resolves once everything sent was answered. */
    async stop() {
      clearInterval(timer);
      await mock.settled();
    },
  };
}

/** The deliveries that a receiver did not take. */
export function refusals(mock: MockProvider) {
  return mock
    .deliveries()
    .flatMap(({ webhook_id, notification, attempts }) =>
      attempts
        .filter(({ answer }) => answer?.status !== 200)
        .map(({ answer, error }) => ({ webhook_id, event: notification.event, answer, error })),
    );
}
