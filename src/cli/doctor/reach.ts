import { z } from 'zod';
import { textOf } from '../../base/answer-body.ts';
import { timeLimit } from '../../base/pause.ts';
import { type Finding, findingsOf } from './finding.ts';
import { whyUnreachable } from './why-unreachable.ts';

const TIMEOUT_MS = 10_000;

const ourError = z.strictObject({ error: z.string() });

/**
 * Whether a URL leads to a receiver of ours: an unsigned POST must be refused, in our words. Seen from this machine, so
 * that it passes TLS and the proxy, but perhaps not the firewall in between.
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
  const isOurs = ourError.safeParse(parsed(text)).success;
  if (status === 401 && isOurs && headers.get('www-authenticate') === 'Bearer') {
    return ok(`${url} reaches the receiver, which refuses what is not signed`);
  }
  if (status === 503 && isOurs)
    return warn(`${url} reaches the receiver, which is busy or stopping: ${text.slice(0, 200)}`);
  if (status >= 300 && status < 400) {
    return fail(`${url} redirects (${status}): register the URL to which it leads`);
  }
  return fail(
    `${url} answers ${status} to an unsigned POST, where the receiver says 401: does the proxy lead to it, and does the path match WEBHOOK_PATH?`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
