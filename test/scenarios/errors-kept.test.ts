import { expect, test } from '@jest/globals';
import { headlineOf } from '../../src/base/thrown.ts';
import { freePort } from '../support/free-port.ts';
import { notification } from '../support/genuine.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { only, present } from '../support/only.ts';
import { runCli } from '../support/run-cli.ts';

const inspect = inspectedForEachTest();
const CHARACTERS = { '&#39;': "'", '&quot;': '"', '&gt;': '>', '&lt;': '<' };

test('the error of a handler says who refused which address, in log, API, page, list and command alike', async () => {
  const port = await freePort();
  const media_available = async () => {
    await fetch(`http://127.0.0.1:${port}/`).catch((cause) => {
      throw new Error('no page for it', { cause });
    });
  };
  const inspected = await inspect({ media_available }, { RETRY_MAX_ATTEMPTS: '1' });
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
  const { body } = await inspected.raw(`/events/${id}`);
  const shown = Object.entries(CHARACTERS).reduce((all, [entity, one]) => all.replaceAll(entity, one), body);
  for (const line of reason.split('\n')) expect(shown).toContain(line);
  expect((await inspected.raw('/events')).body).toContain('caused by: Error [ECONNREFUSED]');
  const { stdout } = await runCli(['events', 'show', id], { env });
  expect(stdout).toContain(reason.split('\n').join('\n  '));
  expect((await runCli(['events', 'list'], { env })).stdout).toContain('caused by: TypeError');
});
