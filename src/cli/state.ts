import { Command } from 'commander';
import { deleteCommand } from './state/delete.ts';
import { exportCommand } from './state/export.ts';
import { importCommand } from './state/import.ts';
import { showCommand } from './state/show.ts';

/** `hookkit state`: shows, deletes, exports and imports what handlers keep for a media or channel in `ctx.state`. */
export function stateCommand(): Command {
  return new Command('state')
    .description('Show, delete, export or import what handlers keep for a media or channel (ctx.state).')
    .addCommand(showCommand())
    .addCommand(deleteCommand())
    .addCommand(exportCommand())
    .addCommand(importCommand());
}
