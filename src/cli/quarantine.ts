import { Command } from 'commander';
import { admitCommand } from './quarantine/admit.ts';
import { listCommand } from './quarantine/list.ts';

/** `hookkit quarantine`: what was refused for want of the right secret, and is kept. */
export function quarantineCommand(): Command {
  return new Command('quarantine')
    .description(
      'Notifications that were refused because no known secret explains their signature, and kept.',
    )
    .addCommand(listCommand())
    .addCommand(admitCommand());
}
