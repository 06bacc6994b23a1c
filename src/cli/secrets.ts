import { Command } from 'commander';
import { rekeyCommand } from './secrets/rekey.ts';
import { scrubCommand } from './secrets/scrub.ts';

/** `hookkit secrets`: rekeys and scrubs the secrets of webhooks. */
export function secretsCommand(): Command {
  return new Command('secrets')
    .description('Rekey the secrets of webhooks in the database, or scrub old secrets from its files.')
    .addCommand(rekeyCommand())
    .addCommand(scrubCommand());
}
