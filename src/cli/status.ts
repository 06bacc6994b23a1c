import type { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { plural, visibleLine } from '../base/text.ts';
import { stats } from '../inspector/attention/attention.ts';
import { duration, number, size } from '../inspector/pages/words.ts';
import { withDatabase } from '../store/open.ts';
import { scheduleJson } from '../store/queue/lists/event-json.ts';
import { configOf } from './options.ts';
import { printResult } from './output.ts';

/** The overview of the inspector as text, from the database: no receiver needs to run. */
export function addStatus(program: Command): void {
  program
    .command('status')
    .description('Say what needs attention and how the last hour went, as the overview page does.')
    .addHelpText('after', '\nIf something is grave, the exit code is 1.')
    .action(status);
}

type Stats = Awaited<ReturnType<typeof stats>> & { schedules: ReturnType<typeof scheduleJson>[] };

async function status({ json }: { readonly json?: true }, command: Command): Promise<void> {
  const config = configOf(command);
  const told = await withDatabase({ ...config, withoutKey: true }, async (store) => ({
    ...(await stats({ store, config, clock: systemClock })),
    schedules: (await store.queue.schedules()).map(scheduleJson),
  }));
  await printResult(json, told, linesOf(told).map(visibleLine).join('\n'));
  const grave = told.concerns.filter((concern) => concern.grave).length;
  if (grave > 0)
    throw new KitError('CHECK_FAILED', `${plural(grave, 'of these needs', 'of these need')} attention now`);
}

function linesOf(told: Stats): string[] {
  const { concerns, events, quarantined, figures, schedules, disk, instances } = told;
  const now = Date.parse(told.now);
  const ago = (time: string) => `${duration(Math.max(0, now - Date.parse(time)))} ago`;
  const said = concerns.map(
    ({ grave, text, advice }) => `${grave ? 'grave' : 'minor'}      ${text}. ${advice}`,
  );
  if (concerns.length === 0) said.push(`ok         All is well. ${told.well}`);
  const free = disk.free_bytes === null ? '' : `, ${size(disk.free_bytes)} free`;
  return [
    ...said,
    `events     ${namesWith({ ...events, quarantined })}`,
    `last hour  ${namesWith({
      received: figures.accepted + figures.duplicate,
      handled: figures.handled,
      skipped: figures.skipped,
      'runs failed': figures.failed,
      refused: figures.rejected,
      'not recorded': figures.not_recorded,
    })}`,
    ...Object.entries(told.subscribers).map(([name, { pending, behind, instances: having }]) => {
      const nobody = having.length === 0 ? ', in no instance' : '';
      return `subscriber ${name}: pending ${number(pending)}, behind ${number(behind)}${nobody}`;
    }),
    ...schedules.map((one) => `schedule   ${one.name}: last ${one.last_at ?? 'none'}, next ${one.next_at}`),
    `database   ${size(disk.database_bytes)}${free}`,
    ...instances.map(
      ({ name, version, seen_at: seen, left_at: left, running }) =>
        `instance   ${name} (${version}): ${left ? `left ${ago(left)}` : `seen ${ago(seen)}, ${running} running`}`,
    ),
  ];
}

function namesWith(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${number(count)}`)
    .join(', ');
}
