import { readFileSync } from 'node:fs';
import { afterEach, expect, jest, test } from '@jest/globals';
import { toLine } from '../../../src/replay/recording-lines.ts';
import { HANDLED, settleAll } from '../../support/claiming.ts';
import { deskForEachTest, type EventDesk, SECRET } from '../../support/event-desk.ts';
import { listeningReceiver } from '../../support/listening-receiver.ts';
import { textOf } from '../../support/manual.ts';
import { present } from '../../support/only.ts';
import type { SpawnOptions } from '../../support/run-cli.ts';
import { some } from '../../support/sizes.ts';
import { verified } from '../../support/verified-notification.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

const cleanUps: (() => unknown)[] = [];
/** What must hold besides, once a case has ended. */
const checks: (() => void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

type Call = { readonly args: readonly string[]; readonly options?: SpawnOptions };

const env = { LOG_LEVEL: 'fatal', WEBHOOK_SECRET: SECRET };
const call = (...args: string[]): Call => ({ args, options: { env } });
const nothing = ['--site', 'nowhere'];

/** Events that end alike whatever handlers there are: of an unknown kind, skipped; of a known one without its members, dead. */
async function events(kinds: readonly ('skipped' | 'dead')[]): Promise<void> {
  const store = await desk().store();
  for (const [number, kind] of kinds.entries()) {
    const event = kind === 'dead' ? 'media_available' : 'media_renamed';
    const media_id = kind === 'dead' ? '' : `media-${number}`;
    await store.record(verified({ event, media_id, at: Date.UTC(2026, 0, 1) + number * 1000 }));
  }
  await settleAll(store, HANDLED);
}

async function listen(status = 200): Promise<string> {
  const receiver = await listeningReceiver(() => ({ status }));
  cleanUps.push(() => receiver.close());
  return receiver.url;
}

function report(name: string, outcomes: readonly string[]): string {
  const lines = outcomes.map((outcome, number) =>
    JSON.stringify({ v: 1, id: String(number), kind: 'k', resource: 'r', outcome }),
  );
  return desk().write(name, lines.map((line) => `${line}\n`).join(''));
}

function recording(): string {
  const { body } = verified({ webhook_id: 'webhook1' });
  return desk().write('r.ndjson', toLine({ body, receivedAt: 1, webhookId: 'webhook1' }));
}

/** How to bring about each case: what to call, where it is not the same for all of it more than one. */
const cases: Readonly<Record<string, (own: EventDesk) => Promise<readonly Call[]>>> = {
  'replay: events were reset, or were pending already': async (own) => {
    await own.fill(1);
    return [call('replay', '--all'), call('replay', '--all')];
  },
  'replay: no event matches, or only pruned ones': async (own) => {
    await own.fill(1);
    await (await own.store()).prune(Date.now() + 1, 1);
    return [call('replay', ...nothing), call('replay', '--all')];
  },
  'replay --allow-empty: no event matches': async (own) => {
    await own.fill(1);
    return [
      call('replay', ...nothing, '--allow-empty'),
      call('replay', ...nothing, '--allow-empty', '--run'),
      call('replay', ...nothing, '--allow-empty', '--dry-run'),
    ];
  },
  'replay --dry-run: events would be reset': async (own) => {
    await own.fill(1);
    return [call('replay', '--all', '--dry-run')];
  },
  'replay --dry-run: no event matches': async (own) => {
    await own.fill(1);
    return [call('replay', ...nothing, '--dry-run'), call('replay', ...nothing, '--dry-run', '--json')];
  },
  'replay --run: all events ended, and none as dead': async () => {
    await events(['skipped', 'skipped']);
    return [call('replay', '--all', '--run')];
  },
  'replay --run: an event ended as dead': async () => {
    await events(['skipped', 'dead']);
    return [call('replay', '--all', '--run')];
  },
  'replay --run --fail-on none: an event ended as dead': async () => {
    await events(['skipped', 'dead']);
    return [call('replay', '--all', '--run', '--fail-on', 'none')];
  },
  'replay --run: no event matches': async () => {
    await events(['skipped']);
    return [call('replay', ...nothing, '--run')];
  },
  'replay --report: an event ended as dead in a server; the report is written': async (own) => {
    await events(['skipped', 'dead']);
    await own.serveHere();
    checks.push(() => expect(own.lines('report')).toHaveLength(2));
    return [call('replay', '--all', '--report', own.path('report'))];
  },
  'replay --expect handled: all events ended as handled': async (own) => {
    await own.fill(2);
    await own.serveHere();
    return [call('replay', '--all', '--expect', 'handled')];
  },
  'replay --expect handled: an event ended as skipped or dead': async () => {
    await events(['skipped']);
    const store = await desk().store();
    const dead = await store.record(verified({ media_id: '', at: Date.UTC(2026, 5) }));
    return [
      call('replay', '--kind', 'unknown:media_renamed', '--run', '--expect', 'handled'),
      call('replay', '--id', dead.id, '--run', '--expect', 'handled', '--fail-on', 'none'),
    ];
  },
  'replay --timeout 10m: an event had not ended by then; a report is written': async (own) => {
    await own.fill(1);
    checks.push(() => expect(own.lines('report')).toMatchObject([{ outcome: 'pending' }]));
    return [call('replay', '--all', '--timeout', '300ms', '--report', own.path('report'))];
  },
  'replay --to: every notification was answered with 200': async () => [
    call('replay', '--to', await listen(), '--from', recording()),
  ],
  'replay --to: a notification got another answer or none, had no secret, or was a broken line': async (
    own,
  ) => {
    const broken = own.write('broken.ndjson', 'no line');
    return [
      call('replay', '--to', await listen(503), '--from', recording()),
      call('replay', '--to', 'http://127.0.0.1:1/', '--from', recording()),
      { args: ['replay', '--to', await listen(), '--from', recording()] },
      call('replay', '--to', await listen(), '--from', broken, '--allow-empty'),
    ];
  },
  'replay --to: no event matches': async (own) => {
    await own.fill(1);
    const to = ['--to', await listen(), ...nothing];
    return [
      call('replay', ...to, '--from', recording()),
      call('replay', ...to),
      call('replay', '--to', await listen(), '--from', own.write('empty.ndjson', '')),
    ];
  },
  'replay --to --allow-empty: no event matches': async (own) => {
    await own.fill(1);
    const to = ['--to', await listen(), ...nothing, '--allow-empty'];
    return [call('replay', ...to, '--from', recording()), call('replay', ...to)];
  },
  'replay --to --dry-run: no event matches': async (own) => {
    await own.fill(1);
    return [call('replay', '--to', 'http://127.0.0.1:1/', ...nothing, '--dry-run')];
  },
  'replay: interrupted by Ctrl-C or SIGTERM before all events were reset or sent, or while it waited for their ends; then no report is written':
    async () => {
      const receiver = await listeningReceiver(() => ({ ms: 2000 }));
      cleanUps.push(() => receiver.close());
      const onSpawn: SpawnOptions['onSpawn'] = (child) => {
        const timer = setInterval(() => {
          if (receiver.taken.length === 0) return;
          clearInterval(timer);
          child.kill('SIGTERM'); // once: a second one would end the process at once
        }, 5);
        child.once('exit', () => clearInterval(timer));
      };
      const args = ['replay', '--to', receiver.url, '--from', recording(), '--timeout', '1s'];
      return [{ args, options: { env, onSpawn } }];
    },
  'send: the receiver took the notification, or refused a broken one': async () => [
    call('send', '--kind', 'media_available', '--media', 'm', '--to', await listen()),
    call('send', '--kind', 'media_available', '--media', 'm', '--to', await listen(401), '--fault', 'forged'),
  ],
  'send: the receiver refused a genuine notification, took a broken one, answered it with 404, 405 or 5xx, or gave no answer':
    async () => [
      call('send', '--kind', 'media_available', '--media', 'm', '--to', await listen(401)),
      ...(await Promise.all(
        [200, 404, 405, 503].map(async (status) =>
          call(
            ...['send', '--kind', 'media_available', '--media', 'm', '--fault', 'forged'],
            '--to',
            await listen(status),
          ),
        ),
      )),
      call('send', '--kind', 'media_available', '--media', 'm', '--to', 'http://127.0.0.1:1/'),
    ],
  'send: every receiver refuses the file of `--body`; nothing was sent': async (own) => [
    call('send', '--body', own.write('b.json', '[]'), '--to', 'http://127.0.0.1:1/'),
  ],
  'export: done, also if no event matches: the recording is empty then': async (own) => {
    await own.fill(1);
    checks.push(() => expect(readFileSync(own.path('empty'), 'utf8')).toBe(''));
    return [
      call('export'),
      call('export', ...nothing),
      call('export', ...nothing, '--out', own.path('empty')),
    ];
  },
  'compare: every event ended alike in both reports': async () => [
    call('compare', report('a', ['handled']), report('b', ['handled'])),
    call('compare', report('c', []), report('d', []), '--allow-empty'),
  ],
  'compare: an event ended differently, is in one report only, or a line is broken': async (own) => [
    call('compare', report('a', ['handled']), report('b', ['dead'])),
    call('compare', report('c', ['handled', 'dead']), report('d', ['handled'])),
    call(
      'compare',
      report('e', ['handled']),
      own.write('f', `${readFileSync(report('g', ['handled']))}no line\n`),
    ),
  ],
  'compare: both reports are empty': async () => [call('compare', report('a', []), report('b', []))],
  'list`, `prune: done, also if no event matches': async (own) => {
    await own.fill(1);
    return [call('list', ...nothing), call('prune', '--older-than', '1d', ...nothing)];
  },
  'show: there is no such event': async (own) => {
    await own.fill(1);
    return [call('show', 'abc-0123456789abcdef0123')];
  },
  'any that reads the database: there is none': async ({ absent }) =>
    [['list'], ['replay', '--all'], ['export']].map((args) => ({ args, options: { env: absent } })),
  'any: called wrongly: an unknown option, options that contradict each other, a file that cannot be read':
    async (own) => [
      call('replay', '--everything'),
      call('replay', '--all', '--status', 'dead'),
      call('replay', '--all', '--wait', '1s', '--timeout', '1s'),
      call('replay', '--to', 'http://127.0.0.1:1/', '--all', '--expect', 'handled'),
      call('replay', '--to', 'http://127.0.0.1:1/', '--all', '--fail-on', 'dead'),
      call('replay', '--all', '--expect', 'pending'),
      call('replay', '--to', 'http://127.0.0.1:1/', '--from', own.path('nowhere')),
    ],
};

/** The table as it stands in the documentation. */
const rows = [...textOf('replay.md').matchAll(/^\| `?([^|]*?)`? \| ([^|]*) \| ([012]) \|$/gm)].map(
  ([, command, when, code]) => [`${command}: ${when}`, Number(code)] as const,
);

test('has a case for each row of the table and a row for each case, when the documentation is read', () => {
  expect(rows.length).toBeGreaterThan(25);
  expect(rows.map(([row]) => row).toSorted()).toEqual(Object.keys(cases).toSorted());
});

/** Rows for which handlers run: each starts threads. */
const runsHandlers = ([row]: (typeof rows)[number]) => /--run|--expect|--report/.test(row);
const [costly, quick] = [rows.filter(runsHandlers), rows.filter((row) => !runsHandlers(row))];

test.each([...some(12, quick), ...some(2, costly)])(
  'ends as documented, when it is %s, with %i',
  async (row, code) => {
    const calls = await present(cases[row])(desk());
    const codes: unknown[] = [];
    for (const { args, options } of calls) {
      const run = await (options?.onSpawn ? desk().spawnEvents(args, options) : desk().events(args, options));
      codes.push(run.code === code ? code : { args, ...run });
    }
    expect(codes).toEqual(calls.map(() => code));
    for (const check of checks.splice(0)) check();
  },
);
