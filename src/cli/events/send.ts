import { Command, InvalidArgumentError, Option } from 'commander';
import { isKind, kindNames } from '../../notification/kinds.ts';
import { duration } from '../duration.ts';
import { FAULT_HELP, FAULTS, type Fault } from './single/fault-names.ts';
import { receiverUrl } from './url.ts';
import { moment, TIME_HELP } from './when.ts';

/** What the options give. */
export interface SendFlags {
  readonly kind?: string;
  readonly media?: string;
  readonly thumbnail?: string;
  readonly track?: string;
  readonly channel?: string;
  readonly site: string;
  /** undefined: that of the body, or the only one that has a stored secret */
  readonly webhook?: string;
  readonly eventTime?: number;
  readonly body?: string;
  readonly to?: URL;
  readonly secretFile?: string;
  readonly fault?: Fault;
  readonly timeout?: number;
  readonly json?: true;
}

const EXAMPLES = `
Faults:
${FAULTS.map((fault) => `  ${fault.padEnd(10)} ${FAULT_HELP[fault]}`).join('\n')}

Exits with 0 if the receiver did what it must: took it, or with --fault refused it.

Examples:
  npx hookkit events send --kind media_available --media UUhbHm6C
  npx hookkit events send --kind thumbnail_created --media UUhbHm6C --thumbnail gRhzPu4O --to http://127.0.0.1:3000/webhooks/media
  npx hookkit events send --kind channel_active --channel Ny05CEfj --fault forged
  npx hookkit events send --body notification.json --secret-file secret.txt`;

const SITE = 'site0001';

export function sendCommand(): Command {
  return new Command('send')
    .description('Sign one notification and send it; with --fault, broken in one way.')
    .option('--kind <kind>', 'a kind, such as media_available, or unknown:NAME for another', kind)
    .option('--media <id>', 'media_id', present)
    .option('--thumbnail <id>', 'thumbnail_id', present)
    .option('--track <id>', 'track_id', present)
    .option('--channel <id>', 'channel_id', present)
    .option('--site <id>', 'site_id', present, SITE)
    .option(
      '--webhook <id>',
      'webhook_id, which decides about the secret (default: the only one that has a stored secret, else webhook1)',
      present,
    )
    .option('--event-time <time>', `event_time: ${TIME_HELP} (default: now)`, moment)
    .option('--body <file>', 'send exactly this file (-: stdin) instead of the options above')
    .option('--to <url>', 'the receiver (default: the one of this environment)', receiverUrl)
    .option(
      '--secret-file <file>',
      'the secret to sign with (-: stdin). Without it, the one stored for the webhook, else WEBHOOK_SECRET',
    )
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

function kind(text: string): string {
  if (isKind(text)) return text;
  const [, unknown] = /^unknown:(.+)$/.exec(text) ?? [];
  if (unknown !== undefined) return unknown;
  throw new InvalidArgumentError(`It must be one of ${kindNames.join(', ')}, or unknown:NAME.`);
}

function present(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It must not be empty.');
}
