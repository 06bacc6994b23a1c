import { Command } from 'commander';
import { deleteCommand } from './state/delete.ts';
import { showCommand } from './state/show.ts';

/** `hookkit state`: shows and deletes what handlers keep for a media or channel in `ctx.state`. */
export function stateCommand(): Command {
  return new Command('state')
    .description('Show or delete what handlers keep for a media or channel (ctx.state).')
    .addCommand(showCommand())
    .addCommand(deleteCommand());
}
