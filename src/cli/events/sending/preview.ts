import { iso } from '../../../store/event-json.ts';
import { line, write } from '../../print.ts';
import { table } from '../../table.ts';
import type { Outgoing } from './outgoing.ts';

const SHOWN = 5;

/** Counts what would be sent, and shows the first few. */
export async function showOutgoing(items: AsyncIterable<Outgoing>, json: boolean): Promise<void> {
  let count = 0;
  const first: string[][] = [];
  for await (const { id, kind, resource, eventTime, receivedAt } of items) {
    count++;
    const time = eventTime === 0 ? '-' : iso(eventTime);
    if (first.length < SHOWN) first.push([id, time, iso(receivedAt), kind, resource]);
  }
  if (json) return write(`${JSON.stringify({ dry_run: true, sendable: count })}\n`);
  await write(
    `${count} notifications would be sent${count > SHOWN ? `, the first ${SHOWN} of them` : ''}:\n`,
  );
  const head = ['id', 'event time', 'received', 'kind', 'resource'];
  if (count > 0)
    await write(
      table(
        head,
        first.map((row) => row.map(line)),
      ),
    );
}
