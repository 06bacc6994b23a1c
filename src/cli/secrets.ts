import { Command } from 'commander';
import { rekeyCommand } from './secrets/rekey.ts';
import { scrubCommand } from './secrets/scrub.ts';

/** `hookkit secrets`: how the webhooks' secrets are sealed. */
export function secretsCommand(): Command {
  return new Command('secrets')
    .description('How the webhooks’ secrets are sealed in the database.')
    .addCommand(rekeyCommand())
    .addCommand(scrubCommand());
}
