import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { headlineOf } from '../../src/base/thrown.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';
import { only, present } from '../support/only.ts';
import { runCli } from '../support/run-cli.ts';

let inspected: Inspected | undefined;

afterEach(() => inspected?.dispose());

/** An address where nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** As a browser shows a page's text. */
function shownBy(html: string): string {
  return html
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<');
}

describe('the error of a handler', () => {
  test('says who refused which address, in log, API, page, list and command alike, when a fetch of it was refused', async () => {
    const port = await closedPort();
    const media_available = async () => {
      await fetch(`http://127.0.0.1:${port}/`).catch((cause) => {
        throw new Error('no page for it', { cause });
      });
    };
    inspected = await inspect({ media_available }, { RETRY_MAX_ATTEMPTS: '1' });
    const { env } = inspected;
    const { id } = (await (await inspected.deliver(notification())).json()) as { id: string };
    await inspected.settled();

    const reason = present((await inspected.service.store.event(id))?.lastError);
    expect(headlineOf(reason)).toBe(
      `Error: no page for it caused by: TypeError: fetch failed caused by: Error [ECONNREFUSED]: connect ECONNREFUSED 127.0.0.1:${port}`,
    );
    expect(reason.split('\n')[1]).toMatch(/^ +at .*errors-kept\.test/);
    expect(reason).not.toContain('node:');

    expect(only(inspected.log.withMessage('event given up')).reason).toBe(reason);
    const { last_error, history } = await inspected.api(`/events/${id}`);
    expect([last_error, history[0].error]).toEqual([reason, reason]);
    expect(shownBy((await inspected.raw(`/events/${id}`)).body)).toContain(reason);
    expect((await inspected.raw('/events')).body).toContain('caused by: Error [ECONNREFUSED]');
    const { stdout } = await runCli(['events', 'show', id], { env });
    expect(stdout).toContain(reason.split('\n').join('\n  '));
    expect(stdout).toMatch(
      new RegExp(` error +\\S+ +Error: no page for it .*ECONNREFUSED 127\\.0\\.0\\.1:${port}`),
    );
    expect((await runCli(['events', 'list'], { env })).stdout).toContain('caused by: TypeError');
  });
});
