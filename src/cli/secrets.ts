import { Command } from 'commander';
import { rekeyCommand } from './secrets/rekey.ts';

/** `hookkit secrets`: rekeys the secrets of webhooks. */
export function secretsCommand(): Command {
  return new Command('secrets')
    .description('Rekey the secrets of webhooks in the database.')
    .addCommand(rekeyCommand());
}
