import { isUtf8 } from 'node:buffer';
import { KitError } from '../../../base/errors.ts';
import { type Config, loadConfig } from '../../../config.ts';
import { wordOf } from '../../../replay/answer-tally.ts';
import { broken } from '../../../replay/faulty-requests.ts';
import { type Answer, Transport } from '../../../replay/receiver-client.ts';
import { signingKeys } from '../../../replay/signing-keys.ts';
import { line, write } from '../../print.ts';
import { bodyOf, readBody } from '../body-options.ts';
import type { SendFlags } from '../send.ts';
import { CHANGES_BODY, type Fault } from './fault-names.ts';

const ANSWER_MS = 10_000;
const SLOW_ANSWER_MS = 120_000;

/** Where a text that is no JSON names its webhook all the same. */
const NAMED_WEBHOOK = /"webhook_id"\s{0,100}:\s{0,100}"([^"\\]{1,200})"/;

/** `hookkit events send`. */
export async function send(flags: SendFlags): Promise<void> {
  refuseContradictions(flags);
  const config = loadConfig();
  const keys = await signingKeys(config, flags.secretFile);
  const [only, ...others] = keys.webhooks;
  const usualWebhook = others.length === 0 ? only : undefined;
  const body = await bodyOf(flags, usualWebhook);
  if (flags.body !== undefined && !flags.asIs) checkBody(flags.body, body, config);
  const webhook = flags.webhook ?? webhookOf(body) ?? usualWebhook ?? '';
  const key = keys.keyFor(webhook);
  if (!key)
    throw new KitError(
      'INPUT_INVALID',
      webhook === ''
        ? 'the body names no webhook: give --webhook, --secret-file or WEBHOOK_SECRET'
        : `no secret for webhook ${line(webhook)}: give --secret-file, or WEBHOOK_SECRET`,
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

/** @throws KitError INPUT_INVALID */
function refuseContradictions({ body, secretFile, asIs, fault }: SendFlags): void {
  if (body === '-' && secretFile === '-')
    throw new KitError('INPUT_INVALID', 'stdin cannot be both the body and the secret');
  if (asIs && body === undefined)
    throw new KitError('INPUT_INVALID', '--as-is is for --body: what is made of --kind is always sound');
  if (asIs && fault !== undefined && CHANGES_BODY.has(fault))
    throw new KitError(
      'INPUT_INVALID',
      `--fault ${fault} changes the body, and --as-is sends it as it is: give one of them`,
    );
}

/** @throws KitError INPUT_INVALID if every receiver refuses this body unread */
function checkBody(file: string, body: Buffer, { BODY_LIMIT: limit }: Config): void {
  const { problem } = readBody(body);
  const refusal =
    problem === undefined
      ? body.length > limit && `with 413 (it has ${body.length} bytes, and BODY_LIMIT is ${limit})`
      : `with 400 (${problem})`;
  if (!refusal) return;
  const name = file === '-' ? 'stdin' : line(file);
  throw new KitError(
    'INPUT_INVALID',
    `nothing was sent, as a receiver refuses ${name} ${refusal}: correct it, or send its very bytes with --as-is`,
  );
}

/** The webhook that a body names, even one that a receiver refuses to read; undefined if there is none to be seen. */
function webhookOf(body: Buffer): string | undefined {
  const read = readBody(body);
  const named = read.problem === undefined ? read.value.webhook_id : NAMED_WEBHOOK.exec(body.toString())?.[1];
  return typeof named === 'string' ? named : undefined;
}

function ownUrl({ HOST, PORT, WEBHOOK_PATH }: Config): URL {
  const host = HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST;
  return new URL(`http://${host.includes(':') ? `[${host}]` : host}:${PORT}${WEBHOOK_PATH}`);
}

function describe(answer: Answer, ms: number): string {
  if (answer.status === undefined) return `no answer after ${ms} ms: ${line(answer.error)}\n`;
  return `${answer.status} in ${ms} ms: ${line(answer.body)}\n`;
}

function asJson(answer: Answer, sent: { body: Buffer; ms: number; fault: Fault | undefined }) {
  const { body, ms, fault = null } = sent;
  const status = answer.status ?? null;
  return {
    outcome: wordOf(answer),
    status,
    answer: answer.status === undefined ? null : answer.body,
    ms,
    fault,
    ...(isUtf8(body) ? { body: body.toString() } : { body: null, body_base64: body.toString('base64') }),
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
