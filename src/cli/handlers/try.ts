import { Command, InvalidArgumentError } from 'commander';
import { addBodyOptions, type BodyFlags } from '../events/body-options.ts';

/** What the options give. */
export interface TryFlags extends BodyFlags {
  readonly attempt: number;
  readonly replay?: true;
  readonly late?: true;
  readonly resetSteps?: true;
  readonly json?: true;
}

const EXAMPLES = `
Nothing is recorded: no attempt, no step of ctx.once, no status. What the handler itself does to the world is done. Steps of
a stored event that were done before give their stored results, unless --reset-steps is given.

Exits with 0 if the handler ended with nothing, skip() or retry(), and with 1 if it failed.

Examples:
  npx hookkit handlers try --kind media_available --media UUhbHm6C
  npx hookkit handlers try --kind channel_idle --channel Ny05CEfj --late
  npx hookkit handlers try loyw3uqg-0123456789abcdef0123 --reset-steps
  npx hookkit handlers try --body notification.json --json`;

export function tryCommand(): Command {
  const command = new Command('try')
    .description('Run the handler for one event once, in this process, without recording anything.')
    .argument('[id]', 'a stored event; without it, the options say what is in the notification');
  return addBodyOptions(command, 'webhook_id (default: webhook1)')
    .option('--attempt <n>', 'what ctx.attempt is', count, 1)
    .option('--replay', 'ctx.replay is true')
    .option('--late', 'ctx.late is true')
    .option('--reset-steps', 'run every step of ctx.once, whatever is stored')
    .option('--json', 'print how it ended as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (id: string | undefined, flags: TryFlags) =>
      (await import('./try-one.ts')).tryOne(id, flags),
    );
}

function count(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 on.');
}
