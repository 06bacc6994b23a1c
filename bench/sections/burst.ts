import { load } from '../acks.ts';
import { atMost, goalTable, number, table } from '../markdown.ts';
import { interleaved } from '../measure.ts';
import { withScratch } from '../scratch.ts';
import type { Sizes } from '../sizes.ts';
import { Target } from '../target.ts';
import type { Section } from './section.ts';

const CASES = ['32', '128', '1000'] as const;

/** The service is quicker in the burst than while it warms up, or slower: it is to be no less than was asked for. */
const MORE = 1.2;
/** Signed beforehand, of what was asked for. */
const MOST = 5;

const notes = ({
  burstEvents,
}: Sizes) => `- As many notifications as the service takes in that time, each of another media, over as many connections; handlers do nothing.
  The time is as long as ${number(burstEvents)} of them take at the rate of the warm-up, and a fifth longer.
- Handled: from the end of the sending until nothing is pending. The ratio is that of sending and handling to sending alone.`;

/** How far handlers fall behind while acks press, and how soon they catch up. */
export const burst: Section = { title: 'A burst', run };

async function run(sizes: Sizes): Promise<string> {
  const results = await interleaved(CASES, sizes.rounds, (connections) =>
    measure(Number(connections), sizes),
  );
  const tooFew = CASES.filter((connections) => results[connections].events < sizes.burstEvents);
  const rows = CASES.map((connections) => {
    const { events, seconds, afterMs, ratio } = results[connections];
    return [connections, number(events), number(seconds), number(afterMs / 1000, 2), number(ratio, 2)];
  });
  const goals = CASES.map((connections) =>
    atMost(
      `a burst over ${connections} connections is handled within, of its sending`,
      results[connections].ratio,
      1.5,
    ),
  );
  return [
    table(['connections', 'events', 's of sending', 's until all are handled', 'ratio'], rows),
    notes(sizes),
    ...tooFew.map(
      (connections) => `Over ${connections} connections it was less than ${number(sizes.burstEvents)}.`,
    ),
    goalTable(goals),
  ].join('\n\n');
}

function measure(connections: number, { warmUpSeconds, burstEvents }: Sizes) {
  return withScratch(async (directory) => {
    const target = await Target.start('ours', { database: `${directory}/receiver.db` });
    try {
      const { port } = target;
      const { perSecond } = await load({ port, connections, seconds: warmUpSeconds });
      const seconds = Math.ceil((MORE * burstEvents) / perSecond);
      await target.handled();
      const { requests: events } = await load({ port, connections, seconds, most: MOST * burstEvents });
      const ended = performance.now();
      await target.handled();
      const afterMs = performance.now() - ended;
      return { events, seconds, afterMs, ratio: 1 + afterMs / 1000 / seconds };
    } finally {
      await target.kill();
    }
  });
}
