import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { Watch } from '../../src/inspector/watch/watch.ts';
import { reach } from '../../src/provider/checks.ts';
import { PROBE_ANSWERS } from '../../src/receiver/verdict.ts';
import { ENGINE } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { notification, PATH, WEBHOOK } from '../support/genuine.ts';
import { inspect } from '../support/inspected-service.ts';

const handlers = {
  media_available() {},
  media_deleted() {
    throw new Error('never');
  },
};
const inspected = await inspect(handlers, {}, { threads: true }); // a store without threads times no commits
await inspected.deliver(notification());
await inspected.deliver(notification());
await inspected.deliver(notification({ event: 'media_deleted' }));
await inspected.deliver(notification({ event: 'made_up' }));
await inspected.deliver(notification({ media_id: 'forged' }), 'another-secret');
await reach(inspected.service.url + PATH, PROBE_ANSWERS);
await inspected.settled();
await inspected.service.store.queue.pause({ reason: 'the archive moves', by: 'test' });
await inspected.addGone('gone');
await eventually(
  'it has reported',
  async () => (await inspected.service.store.reports.instances()).length === 2,
);
const answer = await fetch(`${inspected.url}/metrics`);
expect(answer.headers.get('content-type')).toContain('text/plain');
const text = await answer.text();

const OWN =
  'notifications_total ack_seconds store_up events fault oldest_pending_seconds handler_seconds store_commit_seconds store_busy_ratio ' +
  'quarantined quarantine_lost_total log_lines_dropped_total database_bytes paused';
const NAMES = [
  ...OWN.split(' ').map((name) => `webhook_${name}`),
  ...(ENGINE === 'sqlite' ? ['webhook_disk_free_bytes'] : []),
  ...['process_cpu_seconds_total', 'process_resident_memory_bytes'],
];

test('metrics have these names and no others, when they are scraped', () => {
  const names = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name);
  expect(names.toSorted()).toEqual(NAMES.toSorted());
});

test.each([
  'webhook_notifications_total{result="accepted"} 3',
  'webhook_notifications_total{result="duplicate"} 1',
  'webhook_notifications_total{result="bad_signature"} 1',
  'webhook_notifications_total{result="throttled"} 0',
  'webhook_notifications_total{result="probe"} 1',
  'webhook_ack_seconds_count 4',
  'webhook_events{status="dead"} 1',
  'webhook_events{status="pending"} 0',
  'webhook_oldest_pending_seconds 0',
  'webhook_handler_seconds_count{kind="media_available",outcome="handled"} 1',
  'webhook_handler_seconds_count{kind="media_deleted",outcome="error"} 3',
  'webhook_handler_seconds_count{kind="unknown",outcome="skipped"} 1',
  'webhook_quarantined 1',
  'webhook_store_up 1',
  'webhook_paused 1',
  'webhook_fault{fault="paused",of="",severity="grave"} 1',
])('metrics say %s, when that is what happened', (line) => {
  expect(text.split('\n')).toContain(line);
});

test("the doctor's probe is not among the refusals, when it has looked at the URL", async () => {
  const { rejections } = await inspected.api('/rejections');
  expect(rejections).toMatchObject([{ result: 'bad_signature' }]);
});

test('commits are timed, when there were some, one time a commit', () => {
  const [, count] = /^webhook_store_commit_seconds_count (\d+)$/m.exec(text) ?? [];
  expect(Number(count)).toBeGreaterThan(3);
  expect(Number(/^webhook_store_busy_ratio (.+)$/m.exec(text)?.[1])).toBeLessThanOrEqual(1);
});

test.each(['alerts.yml', 'dashboard.json'])(
  'every metric that docs/monitoring/%s names exists, when it is compared with what is scraped',
  (file) => {
    const document = readFileSync(new URL(`../../docs/monitoring/${file}`, import.meta.url), 'utf8');
    const named = [...document.matchAll(/\bwebhook_\w+/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(4);
    const series = new Set([...text.matchAll(/^(webhook_\w+)[{ ]/gm)].map(([, name]) => name));
    series.add('webhook_disk_free_bytes'); // of a file
    expect([...new Set(named)].filter((name) => !series.has(name))).toEqual([]);
    const labels = [...document.matchAll(/\bresult[=!]~?\\?"([^"\\]+)/g)].flatMap(([, values = '']) =>
      values.split('|'),
    );
    for (const label of labels) expect(text).toContain(`result="${label}"`);
  },
);

test('the last 200 refusals are kept, the newest first', () => {
  const watch = new Watch(systemClock);
  for (let ms = 0; ms < 250; ms++)
    watch.answered({ status: 401, refusal: { reason: 'bad signature' }, ms } as never);
  expect(watch.rejections.map(({ answer }) => answer.ms)).toEqual(
    Array.from({ length: 200 }, (_, n) => 249 - n),
  );
});

test('refusals of a webhook with a stored secret are counted, when strangers name more webhooks than are, from however many networks', async () => {
  const watch = new Watch(systemClock);
  const { store } = inspected.service;
  const config = parseConfig({ ...inspected.env, INSTANCE_NAME: 'flooded' });
  const { log } = inspected.log;
  let reports = 0;
  const needs = { store, config, clock: systemClock, log, kinds: [], running: () => ++reports };
  const stop = watch.keepReporting(needs);
  const hasReportedTwice = async () =>
    (await store.reports.instances()).some(({ name, running }) => name === 'flooded' && running > 1);
  await eventually('it knows the secrets', hasReportedTwice);
  const refuse = (webhookId: string, source: string) =>
    watch.answered({ status: 401, refusal: { reason: 'bad signature' }, ms: 1, webhookId, source } as never);
  for (let n = 0; n < 1500; n++) refuse(`made-up-${n}`, '203.0.113.1');
  for (const n of [1, 2, 3]) refuse(WEBHOOK, `198.51.${n}.1`);
  await stop();
  const counted = (await store.reports.refusals()).filter(({ network }) => network.startsWith('198.51.'));
  expect(counted).toMatchObject([{ webhookId: WEBHOOK, network: '198.51.3.0/24', count: 3 }]);
});
