import type { Outgoing } from '../../../replay/recorded-event.ts';
import { iso } from '../../../store/event-json.ts';
import { line, write } from '../../print.ts';
import { table } from '../../table.ts';

const SHOWN = 5;

/** Counts what would be sent, and shows the first few. */
export async function showOutgoing(items: AsyncIterable<Outgoing>, json: boolean): Promise<number> {
  let count = 0;
  const first: string[][] = [];
  for await (const { id, kind, resource, eventTime, receivedAt } of items) {
    count++;
    const time = eventTime === 0 ? '-' : iso(eventTime);
    if (first.length < SHOWN) first.push([id, time, iso(receivedAt), kind, resource]);
  }
  if (json) {
    await write(`${JSON.stringify({ dry_run: true, sendable: count })}\n`);
    return count;
  }
  const shown = count > SHOWN ? `, the first ${SHOWN} of them` : '';
  await write(`${count} notifications would be sent${shown}:\n`);
  const head = ['id', 'event time', 'received', 'kind', 'resource'];
  const rows = first.map((row) => row.map(line));
  if (count > 0) await write(table(head, rows));
  return count;
}
