import { z } from 'zod';
import { bodyTextOf, jsonOf } from '../base/answer-body.ts';
import { type Clock, timeLimit } from '../base/clock.ts';
import { messageOf, whyUnreachable } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import { visible } from '../base/text.ts';
import { PROBE_TOKEN } from '../notification/token.ts';
import { type Webhook, WebhooksClient } from './webhooks-client.ts';

const TIMEOUT_MS = 10_000;
const NOTICEABLE_MS = 5000;
const TOO_FAR_MS = 30_000;

/** Checks how far this machine's clock is from the provider's clock, by the Date header of an answer. */
export async function checkClock(providerUrl: string, clock: Clock): Promise<Finding> {
  const { ok, warn, fail, skipped } = findingsOf('clock');
  const before = clock.now();
  try {
    const init = { method: 'HEAD', redirect: 'manual', signal: timeLimit(TIMEOUT_MS) } as const;
    const date = (await fetch(providerUrl, init)).headers.get('date');
    const skew = (before + clock.now()) / 2 - Date.parse(date ?? '');
    if (Number.isNaN(skew)) return skipped('the provider does not say what time it is');
    const seconds = (Math.abs(skew) / 1000).toFixed(1);
    const text = `${seconds} s ${skew < 0 ? 'behind' : 'ahead of'} the provider's`;
    if (Math.abs(skew) > TOO_FAR_MS) return fail(`${text}: set the clock, and keep it set (NTP)`);
    return Math.abs(skew) > NOTICEABLE_MS ? warn(`${text}: keep it set (NTP)`) : ok(text);
  } catch (error) {
    return skipped(`the provider does not answer (${whyUnreachable(error)})`);
  }
}

/** Checks whether the provider answers and takes the API secret. @returns the webhooks of the account, if it does */
export async function* checkProvider(
  baseUrl: string,
  apiSecret: string | undefined,
): AsyncGenerator<Finding, readonly Webhook[] | undefined> {
  const { ok, fail, skipped } = findingsOf('provider');
  if (apiSecret === undefined) {
    yield skipped('PROVIDER_API_SECRET is not set');
    return undefined;
  }
  try {
    // One attempt: a check shows a fault, and must not hide it by trying again.
    const client = new WebhooksClient({ baseUrl, apiSecret, maxAttempts: 1 });
    const webhooks = await Array.fromAsync(client.list());
    yield ok(`${baseUrl} takes the API secret; webhooks registered: ${webhooks.length}`);
    return webhooks;
  } catch (error) {
    yield fail(`${baseUrl}: ${messageOf(error)}`);
    return undefined;
  }
}

/**
 * Posts an alert. It follows no redirect, and uses the proxy of the environment.
 * @returns why it did not arrive, without the URL, which is a secret; undefined if it did
 */
export async function postAlert(
  url: string,
  alert: object,
  signal: AbortSignal = new AbortController().signal,
): Promise<string | undefined> {
  try {
    const { ok, status, body } = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(alert),
      redirect: 'manual',
      signal: AbortSignal.any([timeLimit(TIMEOUT_MS), signal]),
    });
    await body?.cancel(); // it may quote the path
    return ok ? undefined : `the answer was ${status}`;
  } catch (error) {
    return whyUnreachable(error);
  }
}

/** Whether alerts are posted, and whether one arrives. @param isTried posts a test message */
export async function checkAlert(url: string | undefined, isTried: boolean): Promise<Finding> {
  const { ok, fail } = findingsOf('alert');
  if (url === undefined) return (isTried ? fail : ok)('ALERT_URL is not set: no alert is posted');
  if (!isTried) return ok('ALERT_URL is set: --alert posts a test message');
  const text = 'A test by hookkit doctor --alert: nothing is wrong.';
  const problem = await postAlert(url, { text, status: 'test' });
  if (problem === undefined) return ok('ALERT_URL took the test message: check that it has arrived');
  return fail(
    `ALERT_URL did not take the test message (${problem}): is it right, and does this machine reach it?`,
  );
}

interface Given {
  /** registered at the provider; undefined where that is not known */
  readonly webhooks: readonly Webhook[] | undefined;
  /** the webhooks whose notifications can be verified here; undefined where that is not known */
  readonly verifiable: Pick<ReadonlySet<string>, 'has'> | undefined;
  /** checked in any case */
  readonly urls: readonly string[];
  readonly answers: ProbeAnswers;
}

type RefusalSeen = { readonly status: number; readonly error: string };

/** How a receiver refuses the probe: with its token, and where a proxy has taken the token away. */
interface ProbeAnswers {
  readonly withToken: readonly RefusalSeen[];
  readonly withoutToken: RefusalSeen;
}

/**
 * Checks whether the webhooks with a secret here reach this receiver. Nothing is sent to other webhooks: their URLs may
 * belong to another receiver.
 */
export async function* checkUrls(given: Given): AsyncGenerator<Finding, void> {
  const { webhooks = [], verifiable, urls } = given;
  const isAsked = given.webhooks !== undefined;
  const { skipped } = findingsOf('url');
  const ours = webhooks.filter(({ id }) => verifiable?.has(id));
  const targets = new Set([...urls, ...ours.map(({ metadata }) => metadata.webhook_url)]);
  for (const url of targets) yield await reach(url, given.answers);
  const why = isAsked ? 'no registered webhook has a stored secret' : 'the provider was not asked';
  if (targets.size === 0) yield skipped(`${why}: give a URL with --url`);
  const { warn, fail } = findingsOf('webhook');
  for (const { id, metadata } of verifiable ? webhooks : []) {
    if (verifiable?.has(id)) continue;
    const url = metadata.webhook_url;
    if (!targets.has(url))
      yield warn(`${id} (${url}) has no secret here: import it, unless another receiver has it`);
    else
      yield fail(`${id} sends to ${url} too, but its secret is missing: import it, or rotate webhook ${id}`);
  }
}

/** The beginning of an answer, in a line. */
const told = (text: string) => visible(text.slice(0, 100)) || 'nothing';

const ourError = z.strictObject({ error: z.string() });

/**
 * Checks whether a URL leads to a receiver of ours, and whether a token comes through: ours answers a bogus one otherwise than none at all.
 * The request comes from this machine: it passes TLS and the proxy, but perhaps not the firewall.
 */
export async function reach(url: string, { withToken, withoutToken }: ProbeAnswers): Promise<Finding> {
  const { ok, fail } = findingsOf('url');
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${PROBE_TOKEN}`, 'Content-Type': 'application/json' },
      body: '{}',
      redirect: 'manual',
      signal: timeLimit(TIMEOUT_MS),
    });
    const { status } = response;
    const text = await bodyTextOf(response);
    const answer = ourError.safeParse(jsonOf(text));
    const is = (ours: RefusalSeen) => status === ours.status && answer.data?.error === ours.error;
    if (withToken.some(is))
      return ok(`${url} leads to the receiver, which refuses a false token, as it must`);
    if (is(withoutToken))
      return fail(
        `${url} leads to the receiver, but the token is lost on the way: let the proxy pass the Authorization header on`,
      );
    if (status >= 300 && status < 400)
      return fail(`${url} redirects (${status}): register the URL that it redirects to`);
    if (status === 503)
      return fail(`${url} answers 503: no receiver behind it takes requests now (${told(text)})`);
    const ask = 'does the proxy lead to the receiver, and does the path match WEBHOOK_PATH?';
    return fail(`${url} answers ${status} (${told(text)}), which the receiver does not: ${ask}`);
  } catch (error) {
    return fail(`${url}: ${whyUnreachable(error)}`);
  }
}
