import { Command } from 'commander';
import { compareCommand } from './compare.ts';
import { exportCommand } from './export.ts';
import { listCommand } from './list.ts';
import { pruneCommand } from './prune.ts';
import { replayCommand } from './replay.ts';
import { sendCommand } from './send.ts';
import { showCommand } from './show.ts';

/** `hookkit events`: what was received, and receiving it again. */
export function eventsCommand(): Command {
  return new Command('events')
    .description('Look at what was received, record it, and replay it: to the handlers or over HTTP.')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(exportCommand())
    .addCommand(replayCommand())
    .addCommand(sendCommand())
    .addCommand(pruneCommand())
    .addCommand(compareCommand());
}
