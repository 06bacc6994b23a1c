import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileAt, runChild } from '../children.ts';
import { copyOfFilled } from '../filled.ts';
import { atLeast, atMost, goalTable, number, table } from '../markdown.ts';
import { interleaved } from '../measure.ts';
import { runProgram } from '../program.ts';
import type { ReplayedFigures } from '../queues/replayed.ts';
import { withScratch } from '../scratch.ts';
import { BENCH_SECRET } from '../secret.ts';
import type { Sizes } from '../sizes.ts';
import { Target } from '../target.ts';
import type { Section } from './section.ts';

const CONCURRENCY = 32;

interface Figures {
  readonly replayed: number;
  readonly putBack: number;
  readonly handled: number;
  readonly replayedMb: number;
  /** by the command, from its start to its end */
  readonly commandReplayed: number;
  readonly commandMb: number;
  readonly exported: number;
  readonly exportMb: number;
  readonly importedMs: number;
  readonly sent: number;
  readonly senderMb: number;
  readonly receiverMb: number;
}

/** Replaying and exporting many events, and sending a recording of them. */
export const files: Section = { title: 'Replay and export', run };

async function run(sizes: Sizes): Promise<string> {
  const { all } = await interleaved(['all'], sizes.rounds, () => measure(sizes));
  const rows = [
    ['events replayed to handlers, a second', number(all.replayed), number(all.replayedMb)],
    ['of which reset and made ready, a second', number(all.putBack), ''],
    ['of which handled after that, a second', number(all.handled), ''],
    ['`events replay --all --run`, events a second', number(all.commandReplayed), number(all.commandMb)],
    ['`events export --out`, events a second', number(all.exported), number(all.exportMb)],
    [
      `\`events replay --to --from --concurrency ${CONCURRENCY}\`, requests a second`,
      number(all.sent),
      number(all.senderMb),
    ],
    ['the receiver meanwhile', '', number(all.receiverMb)],
    ['`webhooks import` of a secret, ms', number(all.importedMs), ''],
  ];
  const notes = `- A recording of ${number(sizes.events)} events is exported, and ${number(sizes.sent)} of them are sent. MB (10^6 bytes) are the most that the
  process held.
- Replayed: all ${number(sizes.replayed)} of a database, a copy each round, are reset to pending and made ready, then handled by
  handlers that do nothing, on one clock; the command does the same with such handlers. Times of commands are those of their processes, from start to end.`;
  return [
    table(['', '', 'MB'], rows),
    notes,
    goalTable([
      atLeast('export, events/s', all.exported, 150_000, 0),
      atMost(`MB of \`events replay --run\` of ${number(sizes.replayed)} events`, all.commandMb, 150, 0),
    ]),
  ].join('\n\n');
}

function measure({ events, sent, replayed: toReplay }: Sizes): Promise<Figures> {
  return withScratch(async (directory) => {
    const database = copyOfFilled(events, directory);
    const recording = `${directory}/recording.ndjson`;
    const exported = await runProgram(['events', 'export', '--out', recording], database);
    const first = `${directory}/first.ndjson`;
    const lines = await copyLines(recording, first, sent);
    const secret = join(directory, 'secret.txt');
    await writeFile(secret, BENCH_SECRET);
    const imported = await runProgram(
      ['webhooks', 'import', '--id', '2yW4KmiG', '--secret-file', secret],
      database,
    );
    const command = await runProgram(
      ['events', 'replay', '--all', '--run', '--fail-on', 'none'],
      copyOfFilled(toReplay, await mkdtemp(join(directory, 'command-'))),
      { HANDLERS: fileAt('./targets/handlers.ts') },
    );
    const replayed = await runChild<ReplayedFigures>('./queues/replayed.ts', {
      database: copyOfFilled(toReplay, await mkdtemp(join(directory, 'replayed-'))),
    });
    return {
      exported: events / exported.seconds,
      exportMb: exported.peakMb,
      importedMs: imported.seconds * 1000,
      replayed: replayed.perSecond,
      putBack: replayed.putBackPerSecond,
      handled: replayed.handledPerSecond,
      replayedMb: replayed.peakMb,
      commandReplayed: toReplay / command.seconds,
      commandMb: command.peakMb,
      ...(await send(first, lines, directory)),
    };
  });
}

/** Sends a recording to a receiver with an empty database. */
async function send(recording: string, lines: number, directory: string) {
  const target = await Target.start('ours', { database: `${directory}/receiver.db` });
  try {
    const to = `http://127.0.0.1:${target.port}/webhooks/media`;
    const args = ['events', 'replay', '--to', to, '--from', recording, '--concurrency', String(CONCURRENCY)];
    const { seconds, peakMb } = await runProgram(args, `${directory}/none.db`);
    return { sent: lines / seconds, senderMb: peakMb, receiverMb: (await target.usage()).peakMb };
  } finally {
    await target.kill();
  }
}

/** Copies at most so many lines; tells how many. */
async function copyLines(from: string, to: string, limit: number): Promise<number> {
  const out = createWriteStream(to);
  let lines = 0;
  for await (const line of createInterface({ input: createReadStream(from) })) {
    if (lines === limit) break;
    if (!out.write(`${line}\n`)) await once(out, 'drain');
    lines++;
  }
  out.end();
  await once(out, 'close');
  return lines;
}
