import { expect, test } from '@jest/globals';
import { visible } from '../../../src/base/visible.ts';
import { eventJson } from '../../../src/store/event-json.ts';
import { type EventRow, toEvent } from '../../../src/store/sqlite/tables/rows.ts';

const row = {
  seq: 1,
  event_time: 1_700_000_000_000,
  digest: Buffer.alloc(32, 1),
  kind: 'media_available',
  webhook_id: 'WH',
  site_id: 'site',
  resource: 'media:1',
  received_at: 1_700_000_000_000,
  deliveries: 1,
  last_delivery_at: 1_700_000_000_000,
  status: 'handled',
  attempts: 1,
  interrupted: 0,
  late: null,
  replays: 0,
  next_attempt_at: null,
  handled_at: 1_700_000_000_000,
  last_error: null,
  body: '{}',
} satisfies EventRow;

const texts = ['kind', 'webhook_id', 'site_id', 'resource', 'body', 'last_error'];
const times = ['event_time', 'received_at', 'last_delivery_at', 'next_attempt_at', 'handled_at'];
const odd = [12_345, 9e300, -9e300, 1.5, Number.POSITIVE_INFINITY, 'yesterday', Buffer.from([0, 255])];

test.each([...texts, ...times])(
  'an event is shown, when the column %s holds what the service never writes there',
  (column) => {
    for (const value of odd) {
      const changed: EventRow = Object.assign({ ...row }, { [column]: value });
      const event = toEvent(changed);
      expect(() => [event.kind, event.webhookId, event.siteId, event.resource].map(visible)).not.toThrow();
      expect(JSON.parse(visible(JSON.stringify(eventJson(event))))).toMatchObject({ status: 'handled' });
    }
  },
);
