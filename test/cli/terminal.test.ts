import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';

const TERMINAL = new URL('../../src/cli/terminal.ts', import.meta.url).href;

test('a command that is to end soon has its own exit code, when it takes longer than that to be done', async () => {
  const code = `
    const { endProcessSoon, onTerminal, setExitCode, terminal } = await import(${JSON.stringify(TERMINAL)});
    setInterval(() => {}, 1000); // what handlers leave behind
    await onTerminal(terminal(), async () => {
      endProcessSoon(50, () => console.log('just before'));
      await new Promise((resolve) => setTimeout(resolve, 300));
      console.log('done');
      setExitCode(3);
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  expect(await once(child, 'close')).toEqual([3, null]);
  expect(printed).toBe('done\njust before\n');
});
