import { isUtf8 } from 'node:buffer';
import { type Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { urlOf } from '../../base/http-server.ts';
import { type Config, loadConfig } from '../../config.ts';
import { refusalOf, webhookOf } from '../../replay/compose.ts';
import type { Answer, SigningKeys } from '../../replay/receiver-client.ts';
import type { Fault } from '../../replay/send-one.ts';
import { hasDatabase, withDatabase } from '../../store/open.ts';
import { readSecret } from '../input.ts';
import { type BodyFlags, bodyOf, duration, receiverUrl, withBody } from '../options.ts';
import { line, print, printJsonLine } from '../output.ts';

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

const HELP = `
Faults:
${Object.entries(FAULT_HELP)
  .map(([fault, help]) => `  ${fault.padEnd(10)} ${help}`)
  .join('\n')}

Exits with 0 if the receiver took the notification, or with --fault refused it; with 2 if nothing was sent; else with 1.

Example:
  npx hookkit events send --kind media_available --media UUhbHm6C`;

const WEBHOOK =
  'webhook_id, which decides about the secret (default: that of the body, or else the only one with a stored secret)';

export function addSend(events: Command): void {
  const command = events
    .command('send')
    .description('Send one signed notification; with --fault, a broken one.');
  withBody(command, WEBHOOK)
    .option('--to <url>', 'send to this receiver (default: the one of this environment)', receiverUrl)
    .option('--secret-file <file>', 'sign with this secret (-: stdin) instead of that of the webhook')
    .option('--as-is', 'with --body: send the file even if every receiver refuses it')
    .addOption(new Option('--fault <fault>', 'break the notification').choices(Object.keys(FAULT_HELP)))
    .option('--timeout <time>', 'how long to wait for the answer (default: 10s; 2m if slow)', duration)
    .option('--json', 'print the sent body and the answer as JSON')
    .addHelpText('after', HELP)
    .action(send);
}

async function send(flags: Flags): Promise<void> {
  // Loaded only here: the other commands for events need no HTTP client.
  const { CHANGES_BODY, checkAnswer, sendNotification } = await import('../../replay/send-one.ts');
  const { wordOf } = await import('../../replay/receiver-client.ts');
  const config = loadConfig();
  const { fault, asIs, json, timeout: timeoutMs, to = ownUrl(config) } = flags;
  if (asIs && fault !== undefined && CHANGES_BODY.has(fault))
    throw new KitError('INPUT_INVALID', `--fault ${fault} changes the body, and --as-is leaves it`);
  const keys = await signingKeys(config, flags.secretFile);
  const usualWebhook = keys.webhooks.length === 1 ? keys.webhooks[0] : undefined;
  const body = await bodyOf(flags, usualWebhook);
  const refusal = flags.body === undefined || asIs ? undefined : refusalOf(body, config.BODY_LIMIT);
  if (refusal !== undefined)
    throw new KitError('INPUT_INVALID', `a receiver refuses this with ${refusal}: see --as-is`);
  const webhook = flags.webhook ?? webhookOf(body) ?? usualWebhook ?? '';
  const key = keys.keyFor(webhook);
  if (!key)
    throw new KitError(
      'INPUT_INVALID',
      `no live secret for webhook ${line(webhook)}: give --webhook or --secret-file`,
    );
  const sending = { to, key, fault, bodyLimit: config.BODY_LIMIT, timeoutMs };
  const { answer, ms } = await sendNotification(body, sending);
  await (json
    ? printJsonLine(asJson(answer, { outcome: wordOf(answer), body, ms, fault }))
    : print(describe(answer, ms)));
  checkAnswer(answer, fault);
}

function ownUrl({ HOST, PORT, WEBHOOK_PATH }: Config): URL {
  return new URL(urlOf(HOST === '::' ? '127.0.0.1' : HOST, PORT) + WEBHOOK_PATH);
}

function describe(answer: Answer, ms: number): string {
  if (answer.status === undefined) return `no answer after ${ms} ms: ${line(answer.error)}`;
  return `${answer.status} in ${ms} ms: ${line(answer.body)}`;
}

function asJson(
  answer: Answer,
  sent: { outcome: string; body: Buffer; ms: number; fault: Fault | undefined },
) {
  const { outcome, body, ms, fault = null } = sent;
  return {
    outcome,
    status: answer.status ?? null,
    answer: answer.status === undefined ? null : answer.body,
    ms,
    fault,
    ...(isUtf8(body) ? { body: body.toString() } : { body: null, body_base64: body.toString('base64') }),
  };
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
  return withDatabase(config, async (store) => storedKeys(await store.everySecret(), known));
}
