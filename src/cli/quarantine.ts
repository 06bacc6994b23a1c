import { Command } from 'commander';
import { admitCommand } from './quarantine/admit.ts';
import { listCommand } from './quarantine/list.ts';

/** `hookkit quarantine`: lists and admits refused notifications whose secret is not known. */
export function quarantineCommand(): Command {
  return new Command('quarantine')
    .description(
      'List or admit notifications in quarantine: refused, because no known secret verifies them, but kept.',
    )
    .addCommand(listCommand())
    .addCommand(admitCommand());
}
