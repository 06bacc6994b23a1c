import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { prettyLog } from '../../src/dev/pretty-log.ts';
import { hostileIn, SPOOF } from '../support/hostile-text.ts';
import { present } from '../support/only.ts';

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
  pino({ hooks: { streamWrite: render } }, sink).info(members, message);
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
