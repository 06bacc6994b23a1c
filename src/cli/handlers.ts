import { Command } from 'commander';
import { checkCommand } from './handlers/check.ts';
import { listCommand } from './handlers/list.ts';
import { tryCommand } from './handlers/try.ts';

/** `hookkit handlers`: lists and tries the handlers. */
export function handlersCommand(): Command {
  return new Command('handlers')
    .description('List the kinds that your handlers take, check the handlers, or try one of them.')
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(checkCommand())
    .addCommand(tryCommand());
}
