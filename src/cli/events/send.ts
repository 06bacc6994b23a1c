import { isUtf8 } from 'node:buffer';
import { Command, Option } from 'commander';
import { KitError } from '../../base/errors.ts';
import { urlOf } from '../../base/listener.ts';
import { type Config, loadConfig } from '../../config.ts';
import { refusalOf, webhookOf } from '../../replay/compose.ts';
import { type Answer, wordOf } from '../../replay/receiver-client.ts';
import { CHANGES_BODY, checkAnswer, type Fault, sendNotification } from '../../replay/send-one.ts';
import type { SigningKeys } from '../../replay/signing-keys.ts';
import { duration, receiverUrl } from '../option-values.ts';
import { line, write } from '../print.ts';
import { addBodyOptions, type BodyFlags, bodyOf } from './body-options.ts';
import { keysFor } from './secret-keys.ts';

interface Flags extends BodyFlags {
  readonly to?: URL;
  readonly secretFile?: string;
  readonly asIs?: true;
  readonly fault?: Fault;
  readonly timeout?: number;
  readonly json?: true;
}

const FAULT_HELP: Readonly<Record<Fault, string>> = {
  forged: 'signed with an unknown secret',
  'alg-none': 'with a token whose header says that it needs no signature',
  tampered: 'changed after it was signed',
  iat: 'with a claim in the token that the body does not have',
  oversized: 'one byte larger than BODY_LIMIT',
  truncated: 'cut off in the middle of its body',
  slow: 'with a body that comes a byte a second',
};

const EXAMPLES = `
Faults:
${Object.entries(FAULT_HELP)
  .map(([fault, help]) => `  ${fault.padEnd(10)} ${help}`)
  .join('\n')}

The command first reads the file of --body as a receiver reads it. If every receiver refuses it, the command sends nothing and
says why. With --as-is it signs and sends the exact bytes of any file; --fault forged, alg-none and slow go with that.

Exits with 0 if the receiver took the notification, or with --fault refused it; with 1 if it did not, gave no answer, or failed (5xx,
with --fault also 404 and 405, which refuse any notification); with 2
if nothing was sent.

Examples:
  npx hookkit events send --kind media_available --media UUhbHm6C
  npx hookkit events send --kind thumbnail_created --media UUhbHm6C --thumbnail gRhzPu4O --to http://127.0.0.1:3000/webhooks/media
  npx hookkit events send --kind channel_active --channel Ny05CEfj --fault forged
  npx hookkit events send --body notification.json --secret-file secret.txt
  npx hookkit events send --body broken.json --as-is`;

const WEBHOOK =
  'webhook_id, which decides about the secret; with --body, the webhook whose secret signs it (default: the webhook that the ' +
  'body names, or else, without --secret-file, the only one that has a stored secret, or else webhook1)';

export function sendCommand(): Command {
  const command = new Command('send').description(
    'Send one signed notification; with --fault, a broken one.',
  );
  return addBodyOptions(command, WEBHOOK)
    .option('--to <url>', 'send to this receiver (default: the one of this environment)', receiverUrl)
    .option(
      '--secret-file <file>',
      'sign with this secret (-: stdin) instead of the newest one stored for the webhook, or else WEBHOOK_SECRET',
    )
    .option('--as-is', 'with --body: send the exact bytes of the file, even if every receiver refuses them')
    .addOption(
      new Option('--fault <fault>', 'break the notification in this way').choices(Object.keys(FAULT_HELP)),
    )
    .option(
      '--timeout <time>',
      'how long to wait for the answer (default: 10s, with --fault slow 2m)',
      duration,
    )
    .option('--json', 'print the sent body and the answer as JSON')
    .addHelpText('after', EXAMPLES)
    .action(send);
}

/** `hookkit events send`. */
export async function send(flags: Flags): Promise<void> {
  refuseContradictions(flags);
  const config = loadConfig();
  const { fault, json, timeout: timeoutMs, to = ownUrl(config) } = flags;
  const keys = await keysFor(config, flags.secretFile);
  const usualWebhook = keys.webhooks.length === 1 ? keys.webhooks[0] : undefined;
  const body = await bodyOf(flags, usualWebhook);
  if (flags.body !== undefined && !flags.asIs) refuseUnreadable(flags.body, body, config);
  const webhook = flags.webhook ?? webhookOf(body) ?? usualWebhook ?? '';
  const key = keys.keyFor(webhook);
  if (!key) {
    const isNamed = flags.webhook !== undefined || flags.body !== undefined;
    throw new KitError('INPUT_INVALID', whyNoKey(webhook, isNamed, keys, config));
  }
  const sending = { to, key, fault, bodyLimit: config.BODY_LIMIT, timeoutMs };
  const { answer, ms } = await sendNotification(body, sending);
  const sent = { body, ms, fault };
  await write(json ? `${JSON.stringify(asJson(answer, sent))}\n` : describe(answer, ms));
  checkAnswer(answer, fault);
}

function whyNoKey(webhook: string, isNamed: boolean, { webhooks }: SigningKeys, config: Config): string {
  if (webhook === '') return 'the body names no webhook: give --webhook, --secret-file or WEBHOOK_SECRET';
  if (config.WEBHOOK_SECRET !== undefined)
    return `no live secret for webhook ${line(webhook)}, and WEBHOOK_SECRET does not serve it, as it had a stored one: give --secret-file, or import a secret`;
  if (webhooks.length > 1 && !isNamed)
    return `${webhooks.length} webhooks have a stored secret: name one with --webhook`;
  return `no secret for webhook ${line(webhook)}: give --secret-file, or WEBHOOK_SECRET`;
}

/** @throws KitError INPUT_INVALID */
function refuseContradictions({ body, secretFile, asIs, fault }: Flags): void {
  if (body === '-' && secretFile === '-')
    throw new KitError('INPUT_INVALID', 'stdin cannot be both the body and the secret');
  if (asIs && body === undefined)
    throw new KitError('INPUT_INVALID', '--as-is is for --body: a composed body is always valid');
  if (asIs && fault !== undefined && CHANGES_BODY.has(fault))
    throw new KitError(
      'INPUT_INVALID',
      `--fault ${fault} changes the body, and --as-is sends it unchanged: give one of them`,
    );
}

/** @throws KitError INPUT_INVALID if every receiver refuses the body unread */
function refuseUnreadable(file: string, body: Buffer, { BODY_LIMIT }: Config): void {
  const refusal = refusalOf(body, BODY_LIMIT);
  if (refusal === undefined) return;
  const name = file === '-' ? 'stdin' : line(file);
  throw new KitError(
    'INPUT_INVALID',
    `nothing was sent, as a receiver refuses ${name} with ${refusal}: correct it, or send its exact bytes with --as-is`,
  );
}

function ownUrl({ HOST, PORT, WEBHOOK_PATH }: Config): URL {
  return new URL(urlOf(HOST === '::' ? '127.0.0.1' : HOST, PORT) + WEBHOOK_PATH);
}

function describe(answer: Answer, ms: number): string {
  if (answer.status === undefined) return `no answer after ${ms} ms: ${line(answer.error)}\n`;
  return `${answer.status} in ${ms} ms: ${line(answer.body)}\n`;
}

function asJson(answer: Answer, sent: { body: Buffer; ms: number; fault: Fault | undefined }) {
  const { body, ms, fault = null } = sent;
  return {
    outcome: wordOf(answer),
    status: answer.status ?? null,
    answer: answer.status === undefined ? null : answer.body,
    ms,
    fault,
    ...(isUtf8(body) ? { body: body.toString() } : { body: null, body_base64: body.toString('base64') }),
  };
}
