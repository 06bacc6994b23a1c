import { type AckFigures, measureAcks } from '../acks.ts';
import { copyOfFilled } from '../filled.ts';
import { atLeast, atMost, goalTable, number, ratio, table } from '../markdown.ts';
import { interleaved, say } from '../measure.ts';
import { withScratch } from '../scratch.ts';
import { CONNECTIONS, type Connections, type Sizes } from '../sizes.ts';
import { settle, Target } from '../target.ts';
import type { Section } from './section.ts';

const CASES = ['plain', 'slow handlers', 'stored', 'queried'] as const;
type Case = (typeof CASES)[number];
type Results = Readonly<Record<Case, AckFigures>>;

/** What each case is a multiple of. */
const BASES = { plain: 'plain', 'slow handlers': 'plain', stored: 'stored', queried: 'stored' } as const;

const HANDLERS_MS = 1000;

/** Acks a second while handlers are slow, and while the dearest queries run. */
export const loaded: Section = { title: 'Acks under other loads', run };

function run(sizes: Sizes): Promise<string> {
  return withScratch(async (directory) => {
    const copy = copyOfFilled(sizes.events, directory);
    await settle(copy);
    const byConnections = new Map<Connections, Results>();
    for (const connections of CONNECTIONS) {
      say(`${connections} connections`);
      const results = await interleaved(CASES, sizes.rounds, (name) =>
        measure({ name, copy, connections, sizes }),
      );
      byConnections.set(connections, results);
    }
    const rows = [...byConnections].flatMap(([connections, results]) =>
      CASES.map((name) => rowOf(connections, name, results)),
    );
    const head = ['connections', 'meanwhile', 'acks/s', 'ratio', 'p50 ms', 'p99 ms', 'p99 ratio'];
    return [table([...head, 'p99.9 ms', 'queries/s'], rows), notes(sizes.events), goals(byConnections)].join(
      '\n\n',
    );
  });
}

function notes(events: number): string {
  return `- \`plain\`: handlers that do nothing, an empty database; \`slow handlers\`: every handler takes ${number(HANDLERS_MS)} ms.
- \`stored\`: as \`plain\`, with ${number(events)} events stored; \`queried\`: the same, while counts, lists and searches for a
  text that no event has go through all of them, one after the other without a pause.
- Ratios are to \`plain\`, those of \`queried\` to \`stored\`. Queries, service and load generator share the cores.`;
}

interface Measurement {
  readonly name: Case;
  /** of the filled database */
  readonly copy: string;
  readonly connections: Connections;
  readonly sizes: Sizes;
}

function measure({ name, copy, connections, sizes }: Measurement): Promise<AckFigures> {
  return withScratch(async (directory) => {
    const isFilled = BASES[name] === 'stored';
    const target = await Target.start('ours', {
      database: isFilled ? copy : `${directory}/receiver.db`,
      handlersMs: name === 'slow handlers' ? HANDLERS_MS : 0,
      queried: name === 'queried',
    });
    try {
      const figures = await measureAcks(target, connections, sizes);
      // What one measurement leaves undone is not to be done during the next.
      if (isFilled) await target.stop();
      return figures;
    } finally {
      await target.kill();
    }
  });
}

function rowOf(connections: number, name: Case, results: Results): string[] {
  const { perSecond, p50, p99, p999, queries } = results[name];
  const base = results[BASES[name]];
  return [
    String(connections),
    name,
    number(perSecond),
    ratio(perSecond, base.perSecond),
    number(p50, 2),
    number(p99, 2),
    ratio(p99, base.p99),
    number(p999, 2),
    queries > 0 ? number(queries, 1) : '',
  ];
}

function goals(byConnections: ReadonlyMap<Connections, Results>): string {
  return goalTable(
    [...byConnections].flatMap(([connections, results]) => [
      atLeast(
        `acks at ${connections} connections with slow handlers, of plain`,
        results['slow handlers'].perSecond / results.plain.perSecond,
        0.9,
      ),
      atMost(
        `p99 at ${connections} connections while queried, of stored`,
        results.queried.p99 / results.stored.p99,
        1.5,
      ),
    ]),
  );
}
