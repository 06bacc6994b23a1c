import { Command } from 'commander';
import { createCommand } from './webhooks/create.ts';
import { deleteCommand } from './webhooks/delete.ts';
import { importCommand } from './webhooks/import.ts';
import { listCommand } from './webhooks/list.ts';
import { rotateCommand } from './webhooks/rotate.ts';
import { showCommand } from './webhooks/show.ts';
import { updateCommand } from './webhooks/update.ts';

/** `hookkit webhooks`: registered at the provider, with their secrets sealed here. */
export function webhooksCommand(): Command {
  return new Command('webhooks')
    .description('The webhooks at the provider, and the secrets that their notifications are verified with.')
    .addCommand(createCommand())
    .addCommand(importCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(updateCommand())
    .addCommand(rotateCommand())
    .addCommand(deleteCommand())
    .addHelpText(
      'after',
      '\nThe provider is reached at PROVIDER_BASE_URL with PROVIDER_API_SECRET. docs/operating.md goes through the tasks.',
    );
}
