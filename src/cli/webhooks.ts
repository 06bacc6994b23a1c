import { Command } from 'commander';
import { createCommand } from './webhooks/create.ts';
import { deleteCommand } from './webhooks/delete.ts';
import { importCommand } from './webhooks/import.ts';
import { listCommand } from './webhooks/list.ts';
import { rotateCommand } from './webhooks/rotate.ts';
import { showCommand } from './webhooks/show.ts';
import { updateCommand } from './webhooks/update.ts';

/** `hookkit webhooks`: the webhooks at the provider, and their secrets in the database. */
export function webhooksCommand(): Command {
  return new Command('webhooks')
    .description(
      'Create, list, change and delete webhooks at the provider, and the secrets that verify their notifications.',
    )
    .addCommand(createCommand())
    .addCommand(importCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(updateCommand())
    .addCommand(rotateCommand())
    .addCommand(deleteCommand())
    .addHelpText(
      'after',
      '\nThe provider is at PROVIDER_BASE_URL and takes PROVIDER_API_SECRET. docs/operating.md describes the tasks.',
    );
}
