import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { type MetadataInput, type MockOptions, MockProvider } from '../../../src/mock/index.ts';
import { kindNames } from '../../../src/notification/kinds.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

export const SITE = '9KboGBFu';

/** A mock on a virtual clock and a receiver, started over for each test of a `describe` or a file. */
export function useStage(options: MockOptions = {}) {
  let mock: MockProvider;
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
    mock = await MockProvider.start({ port: 0, clock: new VirtualClock(), seed: 1, ...options });
  });
  afterAll(() => mock.close());
  beforeEach(() => {
    mock.reset();
    receiver.received.length = 0;
    receiver.answer = () => ({});
  });
  return {
    get mock() {
      return mock;
    },
    get receiver() {
      return receiver;
    },
    /** Registers a webhook at the receiver, for all kinds of SITE where nothing else is said. */
    webhook: (metadata: Partial<MetadataInput> = {}) =>
      mock.createWebhook({
        name: 'test',
        webhook_url: receiver.url,
        events: [...kindNames],
        site_ids: [SITE],
        ...metadata,
      }),
  };
}
