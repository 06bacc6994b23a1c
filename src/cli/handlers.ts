import { Command } from 'commander';
import { listCommand } from './handlers/list.ts';
import { tryCommand } from './handlers/try.ts';

/** `hookkit handlers`: what src/handlers/ takes, and a way to try it. */
export function handlersCommand(): Command {
  return new Command('handlers')
    .description('Show which kinds src/handlers/ takes; `try` runs one of its handlers.')
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(tryCommand());
}
