import { z } from 'zod';
import { jsonOf, textOf } from '../base/answer-body.ts';
import { whyUnreachable } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import { timeLimit } from '../base/pause.ts';

/** A webhook at the provider. */
interface Registered {
  readonly id: string;
  readonly url: string;
}

interface Given {
  /** registered at the provider; undefined where that is not known */
  readonly webhooks: readonly Registered[] | undefined;
  /** the webhooks whose notifications can be verified here; undefined where that is not known */
  readonly verifiable: Pick<ReadonlySet<string>, 'has'> | undefined;
  /** checked in any case */
  readonly urls: readonly string[];
}

/**
 * Checks whether the webhooks with a secret here reach this receiver. Nothing is sent to other webhooks: their URLs may
 * belong to another receiver.
 */
export async function* checkUrls({
  webhooks = [],
  verifiable,
  urls,
}: Given): AsyncGenerator<Finding, void, undefined> {
  const { skipped } = findingsOf('url');
  const ours = webhooks.filter(({ id }) => verifiable?.has(id));
  const targets = new Set([...urls, ...ours.map(({ url }) => url)]);
  for (const url of targets) yield await reach(url);
  if (targets.size === 0) {
    yield skipped('no registered webhook has a stored secret: give a URL with --url');
  }
  const others = verifiable ? webhooks.filter(({ id }) => !verifiable.has(id)) : [];
  for (const webhook of others) yield unverifiable(webhook, targets);
}

function unverifiable({ id, url }: Registered, targets: ReadonlySet<string>): Finding {
  const { warn, fail } = findingsOf('webhook');
  if (targets.has(url)) {
    return fail(
      `${id} sends to ${url} too, but its secret is missing: webhooks import it; if it is lost, webhooks rotate ${id}`,
    );
  }
  return warn(
    `${id} (${url}) has no secret here: it belongs to another receiver, or webhooks import is still to come`,
  );
}

const TIMEOUT_MS = 10_000;

const ourError = z.strictObject({ error: z.string() });

/**
 * Checks whether a URL leads to a receiver of ours: an unsigned POST must be refused with our answer. The request comes from
 * this machine: it passes TLS and the proxy, but perhaps not the firewall.
 */
export async function reach(url: string): Promise<Finding> {
  const { ok, fail, warn } = findingsOf('url');
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
      redirect: 'manual',
      signal: timeLimit(TIMEOUT_MS),
    });
    text = await textOf(response);
  } catch (error) {
    return fail(`${url}: ${whyUnreachable(error)}`);
  }
  const { status, headers } = response;
  const isOurs = ourError.safeParse(jsonOf(text)).success;
  if (status === 401 && isOurs && headers.get('www-authenticate') === 'Bearer') {
    return ok(`${url} reaches the receiver, which refuses unsigned requests`);
  }
  if (status === 503 && isOurs)
    return warn(`${url} reaches the receiver, which is busy or stopping: ${text.slice(0, 200)}`);
  if (status >= 300 && status < 400) {
    return fail(`${url} redirects (${status}): register the URL to which it leads`);
  }
  return fail(
    `${url} answers ${status} to an unsigned POST, but the receiver answers 401: does the proxy lead to it, and does the path match WEBHOOK_PATH?`,
  );
}
