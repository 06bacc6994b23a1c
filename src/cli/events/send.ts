import { Command, Option } from 'commander';
import { duration } from '../duration.ts';
import { addBodyOptions, type BodyFlags } from './body-options.ts';
import { FAULT_HELP, FAULTS, type Fault } from './single/fault-names.ts';
import { receiverUrl } from './url.ts';

/** What the options give; the webhook is that of the body, or the only one that has a stored secret. */
export interface SendFlags extends BodyFlags {
  readonly to?: URL;
  readonly secretFile?: string;
  readonly asIs?: true;
  readonly fault?: Fault;
  readonly timeout?: number;
  readonly json?: true;
}

const EXAMPLES = `
Faults:
${FAULTS.map((fault) => `  ${fault.padEnd(10)} ${FAULT_HELP[fault]}`).join('\n')}

The file of --body is read first as a receiver reads it. One that every receiver refuses is not sent, and the command says
why. With --as-is its very bytes are signed and sent, whatever they are; --fault forged, alg-none and slow go with it.

Exits with 0 if the receiver took it, or with --fault refused it; with 1 if it did not, or gave no answer; with 2 if nothing
was sent.

Examples:
  npx hookkit events send --kind media_available --media UUhbHm6C
  npx hookkit events send --kind thumbnail_created --media UUhbHm6C --thumbnail gRhzPu4O --to http://127.0.0.1:3000/webhooks/media
  npx hookkit events send --kind channel_active --channel Ny05CEfj --fault forged
  npx hookkit events send --body notification.json --secret-file secret.txt
  npx hookkit events send --body broken.json --as-is`;

const WEBHOOK =
  'webhook_id, which decides about the secret; with --body, whose secret signs it (default: the one that the body names, ' +
  'else the only one that has a stored secret, else webhook1)';

export function sendCommand(): Command {
  const command = new Command('send').description(
    'Sign one notification and send it; with --fault, broken in one way.',
  );
  return addBodyOptions(command, WEBHOOK)
    .option('--to <url>', 'the receiver (default: the one of this environment)', receiverUrl)
    .option(
      '--secret-file <file>',
      'the secret to sign with (-: stdin). Without it, the newest one stored for the webhook, else WEBHOOK_SECRET',
    )
    .option('--as-is', 'with --body: send the file byte by byte, also where every receiver must refuse it')
    .addOption(new Option('--fault <fault>', 'break it like this').choices(FAULTS))
    .option(
      '--timeout <time>',
      'how long to wait for the answer (default: 10s, with --fault slow 2m)',
      duration,
    )
    .option('--json', 'print what was sent and the answer as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: SendFlags) => (await import('./single/send.ts')).send(flags));
}
