import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { again } from '../support/again.ts';
import { freePort } from '../support/free-port.ts';
import { endAfterSuite } from '../support/left-behind.ts';
import { copyProgram } from '../support/program-copy.ts';
import { atFullSize } from '../support/sizes.ts';
import { describeWith } from '../support/tools.ts';

jest.setTimeout(180_000); // several starts on a busy machine

describeWith('script', 'npm run dev on a terminal', () => {
  let copy: string;
  let running: ChildProcess | undefined;
  let output = '';

  beforeEach(() => {
    copy = copyProgram();
    output = '';
  });

  afterEach(() => {
    running?.kill('SIGKILL');
    rmSync(copy, { recursive: true, force: true });
  });

  const save = (...body: readonly string[]) =>
    writeFileSync(
      join(copy, 'src/handlers/tracks.ts'),
      ['export const tracks = {', '  media_created(event) {', ...body, '  },', '};'].join('\n'),
    );
  /** The same while Node watches, until it says that it starts anew: it watches files anew at each start, and may miss a save then. */
  async function saveAnew(...body: readonly string[]): Promise<void> {
    const act = () => {
      save(...body);
      return true;
    };
    await again(act, () => output.includes('Restarting'));
  }
  /** Waits as long as the test has time for a text, after what was seen before. */
  async function see(text: string): Promise<void> {
    while (!output.includes(text)) {
      if (running?.exitCode !== null || running.signalCode !== null)
        throw new Error(`it ended without "${text}":\n${output}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    output = output.slice(output.indexOf(text) + text.length);
  }

  /** Starts it with a pseudo-terminal, whose settings it prints at the end. */
  async function start(options = ''): Promise<{
    type(text: string): void;
    upload(): Promise<unknown>;
    ended: Promise<unknown>;
  }> {
    const port = await freePort();
    const command = `trap : INT; '${process.execPath}' --watch bin/hookkit.js dev ${options}; echo ended with $?; stty -a`;
    const child = spawn('script', ['-qefc', command, '/dev/null'], {
      cwd: copy,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, SHELL: '/bin/sh', PORT: '0', ADMIN_PORT: '0', MOCK_PORT: `${port}` },
    });
    running = child;
    child.once(
      'exit',
      endAfterSuite(() => child.kill('SIGKILL')),
    );
    child.stdout.on('data', (chunk) => {
      output += String(chunk).replaceAll('\r', '');
    });
    const body = '{"site_id":"devSite1","media_id":"UUhbHm6C"}';
    return {
      type: (text) => child.stdin.write(text),
      upload: () => fetch(`http://127.0.0.1:${port}/_mock/media`, { method: 'POST', body }),
      ended: once(child, 'close'),
    };
  }

  test('shows an error with its place, and handles the last events again with the changed code, when r is typed', async () => {
    save("    throw new Error('as it was');");
    const { type, upload, ended } = await start();
    await see('Type r and Enter');
    await upload();
    await see('Error: as it was\n');
    await see('src/handlers/tracks.ts:3:11');

    await saveAnew("    console.error('as it is now', event.media_id);");
    await see('Type r and Enter');
    type('r\n');
    await see(' again\n');
    await see('as it is now UUhbHm6C\n');

    type('?\n');
    await see('handle the last events again, up to 20\n');
    type('\u0003'); // Ctrl-C
    await see('stopped');
    await see('ended with 0\n');
    await ended;
    expect(output).toMatch(/^isig icanon .* echo /m);
  });

  atFullSize(test)('ends with what watches it, when q is typed', async () => {
    save();
    const { type, ended } = await start();
    await see('Type r and Enter');
    type('q\n');
    await see('stopped');
    await see('ended with 0\n');
    await ended;
  });

  atFullSize(test)(
    'has something to handle by itself, and loses no line of its log and no terminal, when a handler ends the process',
    async () => {
      save("    console.error('there is', event.media_id);", '    process.exit();');
      const { type, ended } = await start('--tick');
      await see('Type r and Enter');
      await see('there is ');
      await see('process.exit() was called');
      await see('Waiting for file changes');
      type('\u0003');
      await see('ended with ');
      await ended;
      expect(output).toMatch(/^isig icanon .* echo /m);
    },
  );
});
