import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { logFormat } from '../../src/base/log.ts';
import { replayLast } from '../../src/dev/keys.ts';
import { prettyLog } from '../../src/dev/pretty-log.ts';
import { tellingEnds } from '../../src/dev/stage.ts';
import { defineHandlers } from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import { hostileIn, SPOOF } from '../support/hostile-text.ts';
import { logLines } from '../support/log-lines.ts';
import { bodyOf, deliver } from '../support/notifications.ts';
import { present } from '../support/only.ts';
import { runService } from '../support/running-service.ts';

test('r has the last events handled again, R their steps too, and each end is told behind the lines of its handler', async () => {
  const { log, entries } = logLines();
  let [runs, steps] = [0, 0];
  const media = defineHandlers({
    async media_available(_event, ctx) {
      await ctx.once('step', () => void steps++);
      runs++;
      log.info('its own line');
    },
  });
  const service = await runService({}, {}, { app: tellingEnds({ handlers: media }, log) });
  await deliver(service.url, bodyOf(1));
  for (const [options, expected] of [
    [undefined, [1, 1]],
    [{}, [2, 1]],
    [{ resetSteps: true }, [3, 2]],
  ] as const) {
    if (options) expect(await replayLast(service, options)).toBe(1);
    await eventually(
      'it has run',
      async () => (await service.store.queue.count({ status: 'handled' })) === 1 && runs === expected[0],
    );
    expect([runs, steps]).toEqual(expected);
  }
  const told = ['its own line', expect.stringMatching(/^media_available media1 handled in \d+ ms$/)];
  expect(entries().map(({ msg }) => msg)).toEqual([...told, ...told, ...told]);
  await service.stop();
});

/** What makes log lines into others, on a terminal or elsewhere. */
function rendererOn(terminal: { isTTY?: boolean; hasColors?: () => boolean }) {
  return prettyLog(Object.assign(new PassThrough(), terminal));
}

/** What is printed of one call of the logger. */
async function printed(members: object, message: string, colours = false): Promise<string> {
  const render = present(await rendererOn({ isTTY: true, hasColors: () => colours }));
  let text = '';
  const sink = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  pino({ ...logFormat, hooks: { streamWrite: render } }, sink).info(members, message);
  return text;
}

test('a line is for people, when the log goes to a terminal, and as it was, when it goes elsewhere', async () => {
  const text = await printed({ kind: 'media_created', attempt: 1 }, 'handled');
  expect(text).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: handled \{"kind":"media_created","attempt":1\}\n$/);
  expect(stripVTControlCharacters(await printed({ attempt: 1 }, 'handled', true))).toContain(
    'INFO: handled {',
  );
  expect(await rendererOn({})).toBeUndefined();
});

test('a line has colours and nothing else that a terminal obeys, when strangers chose its texts', async () => {
  const text = await printed({ [`a${SPOOF}`]: SPOOF, deep: [{ [SPOOF]: SPOOF }], error: SPOOF }, SPOOF, true);
  const colour = new RegExp(`${String.fromCharCode(27)}\\[\\d\\dm`, 'g');
  expect(text).toMatch(colour);
  expect(hostileIn(text.replaceAll(colour, ''))).toEqual([]);
  expect(text).toContain('\\u202e');
});

test('a text stays within its line, and that of an error is indented, when it has several lines', async () => {
  const forged = 'one\n[00:00:00] FATAL: forged';
  const text = await printed({ name: forged, [forged]: 1, error: forged, reason: forged }, forged);
  const lines = text.split('\n').filter((line) => line !== '');
  expect(lines.filter((line) => line.startsWith('[00:00:00]'))).toEqual([]);
  expect(lines.filter((line) => /^ +\[00:00:00\] FATAL: forged$/.test(line))).toHaveLength(2);
  expect(lines[0]).toContain('one\\n[00:00:00]');
});
