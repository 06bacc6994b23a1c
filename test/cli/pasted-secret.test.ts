import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type Installation, install } from '../support/installation.ts';
import { programEnv } from '../support/sample-handlers.ts';
import { describeWith } from '../support/tools.ts';

jest.setTimeout(60_000); // processes on a busy machine
const cli = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));
const SECRET = 'hunter2-0123456789abcdef-hunter2';

describeWith('script', 'a secret that is pasted at a terminal', () => {
  let here: Installation;
  beforeAll(async () => {
    here = await install();
  });
  afterAll(() => here.dispose());

  /** Types into `webhooks import` on a pseudo-terminal. @returns what the terminal shows, and its settings afterwards */
  async function paste(id: string, typed: string): Promise<string> {
    const command = `trap : INT; '${process.execPath}' '${cli}' webhooks import --id ${id}; echo ended with $?; stty -a`;
    const child = spawn('script', ['-qefc', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...programEnv, ...here.env, PATH: process.env.PATH, SHELL: '/bin/sh' },
    });
    let shown = '';
    child.stdout.on('data', (chunk) => {
      if (!shown.includes('press Enter') && `${shown}${chunk}`.includes('press Enter')) {
        child.stdin.write(typed);
      }
      shown += chunk;
    });
    await once(child, 'close');
    return shown;
  }

  test('is stored, and is not shown', async () => {
    const shown = await paste('one', `${SECRET}\r`);
    expect(shown).toContain('the secret of webhook one is stored');
    expect(shown).toMatch(/ended with 0\s[\s\S]* echo /);
    expect(shown).not.toContain('hunter2');
    expect(await here.json(['webhooks', 'list', '--stored'])).toMatchObject([{ id: 'one', secret: 'live' }]);
  });

  test.each([
    ['two lines', `${SECRET}\r${SECRET}\r`, 'has spaces or line breaks inside', 2],
    ['nothing', '\u0004', 'is empty', 2],
    ['Ctrl-C', `${SECRET}\u0003`, 'ended with', 130],
  ])('is refused and not shown, when it is %s', async (_, typed, reason, code) => {
    const shown = await paste('other', typed);
    expect(shown).toContain(reason);
    expect(shown).toContain(`ended with ${code}`);
    expect(shown).toMatch(/ended with [\s\S]* echo /);
    expect(shown).not.toContain('hunter2');
    expect(JSON.stringify(await here.json(['webhooks', 'list', '--stored']))).not.toContain('other');
  });
});
