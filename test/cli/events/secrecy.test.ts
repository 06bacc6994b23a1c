import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, jest, test } from '@jest/globals';
import { ENGINE } from '../../support/engine.ts';
import { deskForEachTest, type EventDesk, SECRET } from '../../support/event-desk.ts';
import { tokenOf } from '../../support/hs256.ts';
import type { CliOptions } from '../../support/run-cli.ts';
import { size } from '../../support/sizes.ts';

const FALLBACK = 'the-secret-for-all-the-other-webhooks-01';
const GIVEN = 'the-secret-that-came-by-file-or-by-stdin';
const REDACT_KEY = 'the-key-that-ids-are-redacted-with-0123';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

/** Does everything that has to do with secrets, well and badly; tells how each process could be seen. */
async function doEverything({ events, spawnEvents, write, path, serveApart }: EventDesk): Promise<string[]> {
  const argumentLists: string[] = [];
  const service = await serveApart({ WEBHOOK_SECRET: FALLBACK, LOG_LEVEL: 'trace' });
  const to = ['--to', `${service.url}/webhooks/media`];
  const secretFile = write('given.txt', GIVEN);
  const env = { WEBHOOK_SECRET: FALLBACK, LOG_LEVEL: 'trace' };
  /** As somebody could see it on the machine: with a secret on stdin. */
  const spawn = (args: readonly string[], options: CliOptions = {}) =>
    spawnEvents(args, {
      env,
      ...options,
      onSpawn: ({ pid }) => {
        const file = `/proc/${pid}/cmdline`;
        if (existsSync(file)) argumentLists.push(readFileSync(file, 'utf8'));
      },
    });
  const run = size<typeof spawn>({
    small: (args, options) => {
      argumentLists.push(args.join('\0'));
      return events(args, { env, ...options });
    },
    full: spawn,
  });
  const recording = path('recording.ndjson');
  await run(['export', '--out', recording]);
  await run([
    'export',
    '--redact',
    '--redact-key-file',
    write('redact.key', REDACT_KEY),
    '--out',
    path('redacted.ndjson'),
  ]);
  await run(['replay', ...to, '--from', recording, '--report', path('report.ndjson')]);
  await run(['replay', ...to, '--from', path('redacted.ndjson')]);
  await run(['replay', ...to, '--from', recording, '--as-new', '--secret-file', secretFile]);
  await spawn(['replay', ...to, '--all', '--secret-file', '-'], { stdin: `${GIVEN} and more` });
  await run(['replay', '--all', '--run', '--report', path('handled.ndjson')]);
  for (const fault of [
    [],
    ['--fault', 'forged'],
    ['--fault', 'alg-none'],
    ['--fault', 'tampered'],
    ['--fault', 'iat'],
  ]) {
    await run(['send', '--kind', 'media_created', '--media', 'm', ...to, ...fault]);
    await run([
      'send',
      '--kind',
      'media_created',
      '--media',
      'm',
      ...to,
      ...fault,
      '--json',
      '--secret-file',
      secretFile,
    ]);
  }
  await run(['list']);
  await run(['list', '--json']);
  service.child.kill('SIGTERM');
  await service.exited;
  desk().outputs.push(service.output());
  return argumentLists;
}

test('shows no secret and no token, whatever is called, in output, arguments, recordings and reports', async () => {
  await desk().fill(5);
  const argumentLists = await doEverything(desk());
  const { directory, outputs } = desk();
  const files = readdirSync(directory)
    .filter((name) => !['given.txt', 'redact.key', 'receiver.db.key'].includes(name))
    .map((name) => ({ name, bytes: readFileSync(`${directory}/${name}`) }));
  expect(files.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'recording.ndjson',
      'report.ndjson',
      ...(ENGINE === 'sqlite' ? ['receiver.db'] : []),
    ]),
  );
  expect(outputs.join('')).toContain('notification refused');
  expect(argumentLists.length).toBeGreaterThan(10);

  const tokens = readFileSync(`${directory}/recording.ndjson`, 'utf8')
    .trim()
    .split('\n')
    .flatMap((line) =>
      [SECRET, FALLBACK, GIVEN].map((secret) => tokenOf(JSON.parse(line).body, secret).split('.')[2] ?? ''),
    );
  for (const secret of [SECRET, FALLBACK, GIVEN, REDACT_KEY, ...tokens]) {
    expect(outputs.filter((output) => output.includes(secret))).toEqual([]);
    expect(argumentLists.filter((list) => list.includes(secret))).toEqual([]);
    expect(files.filter(({ bytes }) => bytes.includes(secret)).map(({ name }) => name)).toEqual([]);
  }
});
