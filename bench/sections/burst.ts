import { load } from '../acks.ts';
import { atMost, goalTable, number, table } from '../markdown.ts';
import { interleaved } from '../measure.ts';
import { withScratch } from '../scratch.ts';
import type { Sizes } from '../sizes.ts';
import { Target } from '../target.ts';
import type { Section } from './section.ts';

const CASES = ['32', '128'] as const;

const NOTES = `- As many notifications as the service takes in that time, each of another media, over 32 and 128 connections; handlers do nothing.
- Handled: from the end of the sending until nothing is pending. The ratio is that of sending and handling to sending alone.`;

/** How far handlers fall behind while acks press, and how soon they catch up. */
export const burst: Section = { title: 'A burst', run };

async function run(sizes: Sizes): Promise<string> {
  const results = await interleaved(CASES, sizes.rounds, (connections) =>
    measure(Number(connections), sizes),
  );
  const rows = CASES.map((connections) => {
    const { events, afterMs, ratio } = results[connections];
    return [
      connections,
      number(events),
      number(sizes.burstSeconds),
      number(afterMs / 1000, 2),
      number(ratio, 2),
    ];
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
    NOTES,
    goalTable(goals),
  ].join('\n\n');
}

function measure(connections: number, { warmUpSeconds, burstSeconds: seconds }: Sizes) {
  return withScratch(async (directory) => {
    const target = await Target.start('ours', { database: `${directory}/receiver.db` });
    try {
      const { port } = target;
      await load({ port, connections, seconds: warmUpSeconds });
      await target.handled();
      const { requests: events } = await load({ port, connections, seconds });
      const ended = performance.now();
      await target.handled();
      const afterMs = performance.now() - ended;
      return { events, afterMs, ratio: 1 + afterMs / 1000 / seconds };
    } finally {
      await target.kill();
    }
  });
}
