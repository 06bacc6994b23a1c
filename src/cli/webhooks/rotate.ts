import { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { loadConfig } from '../../config.ts';
import { type Rotated, rotate } from '../../rotation/rotate.ts';
import { readStandings, type Standings } from '../../rotation/webhook-view.ts';
import { withDatabase } from '../../store/with-store.ts';
import { interruptible } from '../interruptible.ts';
import { print, printJson, say } from '../print.ts';
import { webhooksClient } from './client.ts';
import { warnOfPredictable } from './warn-if-predictable.ts';
import { graceOption } from './webhook-options.ts';
import { endInWords, warningOfEnvironment } from './webhook-words.ts';

interface Flags {
  readonly grace: number;
  readonly json?: true;
}

const HELP = `
The provider cannot give a webhook a new secret, so a new webhook with another id replaces it. Meanwhile no notification is
refused, and none is handled twice. If the command is interrupted or fails, run it again: it continues from there.

Examples:
  npx hookkit webhooks rotate 2yW4KmiG
  npx hookkit webhooks rotate 2yW4KmiG --grace 1h --json`;

export function rotateCommand(): Command {
  return new Command('rotate')
    .description(
      'Rotate the secret of a webhook: replace the webhook by a new one, while notifications keep coming.',
    )
    .argument('<id>', 'the id of the webhook')
    .addOption(graceOption())
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action(run);
}

async function run(id: string, { grace, json }: Flags): Promise<void> {
  const config = loadConfig();
  const client = webhooksClient(config);
  await withDatabase(config, async (store) => {
    const again = `run npx hookkit webhooks rotate ${id} again, and it continues from here`;
    let isBegun = false;
    const onStep = (step: string) => {
      isBegun = true;
      say(step);
    };
    const rotated = await interruptible(again, (signal) =>
      rotate(id, { client, store, clock: systemClock, graceMs: grace, signal, onStep }),
    ).catch((error) => {
      if (isBegun && error?.code !== 'INTERRUPTED')
        say(`the rotation is not complete: remove the cause, and ${again}`);
      throw error;
    });
    await warnOfPredictable(store, rotated.id);
    const standings = await readStandings(store, config);
    const warning = warningOfEnvironment(id, standings);
    if (warning !== undefined) say(warning);
    if (json) await printJson(viewOf(rotated));
    else await print(inWords(rotated, standings));
  });
}

function viewOf({ id, replaced, oldSecretUntil }: Rotated) {
  const until = oldSecretUntil === undefined ? null : new Date(oldSecretUntil).toISOString();
  return { id: id ?? null, replaced, old_secret_until: until };
}

function inWords(rotated: Rotated, standings: Standings): string {
  const { id, replaced, old_secret_until: until } = viewOf(rotated);
  const old = endInWords(replaced, { whose: 'the old secret', until, standings });
  if (id === null)
    return `nothing is left to do: webhook ${replaced} is gone (npx hookkit webhooks list shows its successor), and ${old}`;
  return `webhook ${replaced} is replaced by ${id}; ${old}`;
}
