import { Command } from 'commander';
import { compareCommand } from './compare.ts';
import { exportCommand } from './export.ts';
import { listCommand } from './list.ts';
import { pruneCommand } from './prune.ts';
import { replayCommand } from './replay.ts';
import { sendCommand } from './send.ts';
import { showCommand } from './show.ts';

/** `hookkit events`: look at received events and replay them. */
export function eventsCommand(): Command {
  return new Command('events')
    .description('List, export and replay the events that were received.')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(exportCommand())
    .addCommand(replayCommand())
    .addCommand(sendCommand())
    .addCommand(pruneCommand())
    .addCommand(compareCommand());
}
