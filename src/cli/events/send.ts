import { type Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { urlOf } from '../../base/http-server.ts';
import type { Config } from '../../config.ts';
import { refusalOf, webhookOf } from '../../replay/compose.ts';
import type { SigningKeys } from '../../replay/receiver-client.ts';
import type { Fault } from '../../replay/send-one.ts';
import { hasDatabase, withDatabase } from '../../store/open.ts';
import { readSecret } from '../input.ts';
import { type BodyFlags, bodyOf, configOf, receiverUrl, withBody } from '../options.ts';
import { line, members, printResult } from '../output.ts';

type Flags = BodyFlags & { to?: URL; secretFile?: string; asIs?: true; fault?: Fault; json?: true };

const FAULTS: readonly Fault[] = ['forged', 'alg-none', 'tampered', 'iat', 'oversized', 'truncated', 'slow'];

const WEBHOOK =
  'webhook_id; its secret signs (default: that of the body, or else the newest one with a stored secret)';

export function addSend(events: Command): void {
  const command = events
    .command('send')
    .description('Send one signed notification; with --fault, a broken one.');
  withBody(command, WEBHOOK)
    .option('--to <url>', 'send to this receiver (default: that of the settings here)', receiverUrl)
    .option('--secret-file <file>', 'sign with this secret (-: stdin) instead of that of the webhook')
    .option('--as-is', 'with --body: send the file even if every receiver refuses it')
    .addOption(new Option('--fault <fault>', 'break the notification').choices(FAULTS))
    .addHelpText('after', '\nExits with 0 if the receiver took the notification, or with --fault refused it.')
    .action(send);
}

async function send(flags: Flags, command: Command): Promise<void> {
  // Loaded only here: the other commands for events need no HTTP client.
  const { CHANGES_BODY, checkAnswer, sendNotification } = await import('../../replay/send-one.ts');
  const { wordOf } = await import('../../replay/receiver-client.ts');
  const config = configOf(command);
  const host = config.HOST === '::' ? '127.0.0.1' : config.HOST; // which also takes IPv4, and IPv6 may be off
  const own = urlOf(host, config.PORT) + config.WEBHOOK_PATH;
  const { fault, asIs, json, to = new URL(own) } = flags;
  if (asIs && fault !== undefined && CHANGES_BODY.has(fault))
    throw new KitError('INPUT_INVALID', `--fault ${fault} changes the body: leave --as-is out`);
  const keys = await signingKeys(config, flags.secretFile);
  const usualWebhook = keys.webhooks.at(-1); // a `dev` that was killed has left older ones behind
  const body = await bodyOf(flags, usualWebhook);
  const refusal = flags.body === undefined || asIs ? undefined : refusalOf(body, config.BODY_LIMIT);
  if (refusal !== undefined)
    throw new KitError('INPUT_INVALID', `a receiver refuses this with ${refusal}: --as-is sends it`);
  const webhook = flags.webhook ?? webhookOf(body) ?? usualWebhook ?? '';
  const key = keys.keyFor(webhook);
  const noKey = `no live secret for webhook ${line(webhook)}: give --webhook or --secret-file`;
  if (!key) throw new KitError('INPUT_INVALID', noKey);
  const sending = { to, key, fault, bodyLimit: config.BODY_LIMIT };
  const { answer, ms } = await sendNotification(body, sending);
  const { status = null } = answer;
  const answered = { outcome: wordOf(answer), status, answer: answer.status ? answer.body : null, ms };
  const whole = { ...answered, fault: fault ?? null, body: `${body}` };
  await printResult(json, whole, members(answered));
  checkAnswer(answer, fault);
}

/**
 * The keys that a command signs with. The secret of the file, if one is given (`-`: stdin), signs for every webhook;
 * otherwise the stored ones do, and WEBHOOK_SECRET for webhooks that never had one, as a receiver here verifies them.
 */
export async function signingKeys(config: Config, secretFile: string | undefined): Promise<SigningKeys> {
  const { oneKey, storedKeys } = await import('../../replay/receiver-client.ts');
  if (secretFile !== undefined) return oneKey(await readSecret(secretFile));
  const known = { fallback: config.WEBHOOK_SECRET, now: systemClock.now() };
  if (!hasDatabase(config)) return storedKeys([], known);
  return withDatabase(config, async (store) => storedKeys(await store.secrets.all(), known));
}
