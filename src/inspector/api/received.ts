import { z } from 'zod';
import { pause } from '../../base/clock.ts';
import { MOMENTS } from '../../base/duration.ts';
import { CURSOR, toLine } from '../../replay/recording-lines.ts';
import type { EventStore, Receipt } from '../../store/event-store.ts';
import { RefusedError } from '../guard/refuse.ts';
import { endpoint } from './endpoint.ts';
import { filterIn, filterShape, momentText } from './events.ts';

const START: Receipt = { seq: 0, receivedAt: 0 };

const cursorOf = ({ seq, receivedAt }: Receipt) => `${seq.toString(36)}-${receivedAt.toString(36)}`;

/** How soon those who wait hear of events. */
const EVERY_MS = 1000;

const newestUpTo = async ({ queue }: EventStore, upTo: number): Promise<Receipt | undefined> =>
  (await queue.search({ limit: 1, reach: 1, upTo })).events[0];

/** The place of the last event before what `after` means. @throws RefusedError 410 if a cursor is not of this database */
async function receiptOf(store: EventStore, after: string | number): Promise<Receipt> {
  if (after === 'start') return START;
  if (after === 'now' || typeof after === 'number') {
    const time = after === 'now' ? Number.MAX_SAFE_INTEGER : after;
    let seq = (await store.queue.lastSeq()) + 1;
    for (;;) {
      const first = await store.queue.firstSince({ seq, time });
      if (first === undefined) return (await newestUpTo(store, seq - 1)) ?? START;
      seq = first;
    }
  }
  const [seq = 0, receivedAt = 0] = after.split('-').map((part) => Number.parseInt(part, 36));
  const found = seq === 0 ? START : await newestUpTo(store, seq);
  if (found?.seq === seq && found.receivedAt === receivedAt) return found;
  const goOn = `after=${new Date(receivedAt).toISOString()} goes on`;
  throw new RefusedError(410, `the cursor is of another database, or from before a restore: ${goOn}`);
}

/** Answers with what was received after a cursor, a recording a line. Headers tell where to go on, and how many events are left. */
export const RECEIVED = endpoint('get', '/received', {
  summary:
    'Notifications received after a cursor, oldest first, as recordings in NDJSON, each with its cursor; none is skipped. ' +
    'The header X-Cursor is where to go on, also if nothing matched; X-Behind is about how many events follow. ' +
    '410: the cursor is of another database.',
  input: z.object({
    ...z.object(filterShape).omit({ subscriber: true, waiting: true }).shape,
    after: z
      .union([z.literal(['start', 'now']), z.string().regex(CURSOR, { abort: true }), momentText], {
        error: `must be a cursor, start, now, or ${MOMENTS}`,
      })
      .describe(`a cursor, start, now, or received since ${MOMENTS}`),
    limit: z.coerce.number().int().min(1).max(500).default(100).describe('how many events are looked at'),
    wait: z.coerce.number().int().min(0).max(60).default(0).describe('how many seconds to wait for a match'),
  }),
  run: async ({ store, clock }, { after, limit, wait, ...filters }, res) => {
    const filter = filterIn(filters);
    const end = clock.now() + wait * 1000;
    const mayWait = () => clock.now() < end && !res.destroyed;
    let place = await receiptOf(store, after);
    let from = place.seq; // behind it may be places of transactions that came to nothing
    for (;;) {
      let upTo = await store.queue.lastSeq();
      // For a few, too: ten readers of a busy receiver would ask for each event.
      for (let few = upTo < from + limit; few && mayWait(); few = upTo <= from) {
        await pause(clock, EVERY_MS);
        upTo = await store.queue.lastSeq();
      }
      const { list, last, next } = await store.queue.receivedPage({ filter, after: from, limit, upTo });
      place = last ?? place;
      from = next ?? upTo;
      if (list.length === 0 && mayWait()) continue;
      res.set({ 'X-Cursor': cursorOf(place), 'X-Behind': String(Math.max(0, upTo - from)) });
      const lines = list.map(({ body, ...one }) => {
        const cursor = cursorOf(one);
        return body === undefined ? '' : `${toLine({ ...one, body, others: { cursor } })}\n`; // retention removed its body
      });
      return lines.join('');
    }
  },
});
