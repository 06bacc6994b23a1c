import { Command } from 'commander';
import { checkCommand } from './handlers/check.ts';
import { listCommand } from './handlers/list.ts';
import { tryCommand } from './handlers/try.ts';

/** `hookkit handlers`: lists and tries the handlers. */
export function handlersCommand(): Command {
  return new Command('handlers')
    .description('List the kinds that src/handlers/ handles, or try one of its handlers.')
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(checkCommand())
    .addCommand(tryCommand());
}
