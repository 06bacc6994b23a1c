import { type Config, loadConfig } from '../../../config.ts';
import { KitError } from '../../../errors.ts';
import { parseJsonText } from '../../../notification/json.ts';
import { line, write } from '../../print.ts';
import type { SendFlags } from '../send.ts';
import { wordOf } from '../sending/answers.ts';
import { signingKeys } from '../sending/signing-keys.ts';
import { type Answer, Transport } from '../sending/transport.ts';
import { bodyOf, WEBHOOK } from './body-options.ts';
import type { Fault } from './fault-names.ts';
import { broken } from './faults.ts';

const ANSWER_MS = 10_000;
const SLOW_ANSWER_MS = 120_000;

/** `hookkit events send`. */
export async function send(flags: SendFlags): Promise<void> {
  if (flags.body === '-' && flags.secretFile === '-')
    throw new KitError('INPUT_INVALID', 'stdin cannot be both the body and the secret');
  const config = loadConfig();
  const keys = await signingKeys(config, flags.secretFile);
  const [only, ...others] = keys.webhooks;
  const body = await bodyOf(flags, others.length === 0 ? only : undefined);
  const webhook = flags.webhook ?? webhookOf(body);
  const key = keys.keyFor(webhook);
  if (!key)
    throw new KitError(
      'INPUT_INVALID',
      `no secret for webhook ${line(webhook)}: give --secret-file, or WEBHOOK_SECRET`,
    );
  const timeoutMs = flags.timeout ?? (flags.fault === 'slow' ? SLOW_ANSWER_MS : ANSWER_MS);
  const transport = new Transport(flags.to ?? ownUrl(config));
  const began = performance.now();
  const answer = await transport
    .post({ ...broken(flags.fault, body, key, config.BODY_LIMIT), timeoutMs })
    .finally(() => transport.close());
  const ms = Math.round(performance.now() - began);
  await write(
    flags.json
      ? `${JSON.stringify(asJson(answer, { body, ms, fault: flags.fault }))}\n`
      : describe(answer, ms),
  );
  judge(answer, flags.fault);
}

/** The webhook that a body names; a body that cannot be read names none. */
function webhookOf(body: string): string {
  try {
    const { webhook_id: webhook } = parseJsonText(body);
    return typeof webhook === 'string' ? webhook : WEBHOOK;
  } catch {
    return WEBHOOK;
  }
}

function ownUrl({ HOST, PORT, WEBHOOK_PATH }: Config): URL {
  const host = HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST;
  return new URL(`http://${host.includes(':') ? `[${host}]` : host}:${PORT}${WEBHOOK_PATH}`);
}

function describe(answer: Answer, ms: number): string {
  if (answer.status === undefined) return `no answer after ${ms} ms: ${line(answer.error)}\n`;
  return `${answer.status} in ${ms} ms: ${line(answer.body)}\n`;
}

function asJson(answer: Answer, sent: { body: string; ms: number; fault: Fault | undefined }) {
  const { body, ms, fault = null } = sent;
  const status = answer.status ?? null;
  return {
    outcome: wordOf(answer),
    status,
    answer: answer.status === undefined ? null : answer.body,
    ms,
    fault,
    body,
  };
}

/** @throws KitError REPLAY_FAILED unless the receiver did what it must */
function judge(answer: Answer, fault: Fault | undefined): void {
  const isCutOff = answer.status === undefined && (fault === 'truncated' || fault === 'slow');
  if (answer.status === undefined && !(isCutOff && answer.error !== 'ECONNREFUSED'))
    throw new KitError('REPLAY_FAILED', 'there was no answer');
  if (fault === undefined && answer.status !== 200) throw new KitError('REPLAY_FAILED', 'it was not taken');
  if (fault !== undefined && answer.status !== undefined && answer.status < 400)
    throw new KitError('REPLAY_FAILED', `it was taken although it is ${fault}: this receiver is not safe`);
}
