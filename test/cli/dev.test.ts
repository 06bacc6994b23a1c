import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { present } from '../support/only.ts';
import { copyProgram, ofCopies } from '../support/program-copy.ts';

jest.setTimeout(180_000); // several starts of npm and Node on a busy machine
let copy: string;
let diary: string;
let running: ChildProcess | undefined;

beforeAll(() => {
  copy = copyProgram();
  diary = join(copy, 'diary');
  writeFileSync(diary, '');
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

afterEach(() => {
  try {
    process.kill(-present(running?.pid), 'SIGKILL'); // npm may have ended before the others of its group
  } catch {
    // all of them have
  }
});

/** Runs a script of npm in a group of its own, as a terminal does. */
function run(script: string, settings: Readonly<Record<string, string | number>>): ChildProcess {
  const texts = Object.entries(settings).map(([name, value]) => [name, String(value)]);
  const env = { ...process.env, ...ofCopies, ...Object.fromEntries(texts) };
  return spawn('npm', ['run', script], { cwd: copy, detached: true, stdio: ['ignore', 'pipe', 'pipe'], env });
}

/** Whether a server listens there. */
async function isOpen(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Waits as long as the test has time: how long a process needs to start says nothing. */
async function until(check: () => boolean): Promise<void> {
  while (!check()) await pause();
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

const forever =
  'await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));';

/** Handlers that write down what they get; what they are to wait for never ends by itself. */
function writeHandlers(version: string, waitFor?: string, file = 'tracks.ts'): void {
  const taken = ['media_created', 'media_available'].flatMap((kind) => [
    `  async ${kind}(_event, ctx) {`,
    `    appendFileSync(${JSON.stringify(diary)}, \`${version} ${kind} \${ctx.attempt}\\n\`);`,
    kind === waitFor ? `    ${forever}` : '',
    '  },',
  ]);
  const lines = [
    "import { appendFileSync } from 'node:fs';",
    "import { defineHandlers } from '../index.ts';",
    'export const tracks = defineHandlers({',
    ...taken,
    '});',
  ];
  writeFileSync(join(copy, 'src/handlers', file), `${lines.join('\n')}\n`);
}

/** How soon something is done again of which nothing came. */
const AGAIN_MS = 5000;

/** Does something until a check holds: again after a while, or at once where it says that it could not. */
async function again(act: () => boolean | Promise<boolean>, check: () => boolean): Promise<void> {
  while (!check()) {
    const end = performance.now() + ((await act()) ? AGAIN_MS : 0);
    do await pause();
    while (!check() && performance.now() < end);
  }
}

test('npm run dev serves on loopback with the mock beside it, starts again when a handler file changes, and leaves nothing', async () => {
  writeHandlers('first', 'media_available');
  const ports = [await freePort(), await freePort(), await freePort()] as const;
  const [PORT, ADMIN_PORT, MOCK_PORT] = ports;
  running = run('dev', { HOST: '0.0.0.0', PORT, ADMIN_PORT, MOCK_PORT });
  const exited = once(running, 'close');
  let output = '';
  for (const stream of [running.stdout, running.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk;
    });
  }
  const told = (what: string) => output.split(what).length - 1;
  const starts = () => told('watch your handlers');
  /**
   * Saves until Node says that it starts anew: it watches files anew at each start, and may miss a save before. To save while it starts
   * would only have it start once more.
   */
  const saved = (save: () => void) => {
    const before = told('Restarting');
    const act = () => {
      save();
      return true;
    };
    return again(act, () => told('Restarting') > before);
  };
  /** Uploads media until a handler has written that. What a mock has not sent when it is started anew, nobody sends. */
  const uploaded = (line: string) => {
    const act = async () => {
      const media = { method: 'POST', body: '{"site_id":"devSite1"}' };
      const answer = await fetch(`http://127.0.0.1:${MOCK_PORT}/_mock/media`, media).catch(() => undefined);
      if (answer) expect(answer.status).toBe(201);
      return answer !== undefined;
    };
    return again(act, () => readFileSync(diary, 'utf8').includes(line));
  };

  await until(() => starts() === 1);
  for (const port of ports) {
    expect(output).toContain(`http://127.0.0.1:${port}`);
    expect(await isOpen('127.0.0.1', port)).toBe(true);
    expect(await isOpen('127.0.0.2', port)).toBe(false);
  }
  expect(output).toContain(join(copy, 'data/dev.db'));
  expect(existsSync(join(copy, 'data/dev.db'))).toBe(true);
  expect(existsSync(join(copy, 'data/receiver.db'))).toBe(false);

  await uploaded('first media_available');
  await saved(() => writeFileSync(join(copy, 'src/handlers/tracks.ts'), 'export const tracks = {\n'));
  await until(() => output.includes('src/handlers/ does not load'));
  await saved(() => writeHandlers('second'));
  // What the first version had not ended is the second's.
  await until(() => readFileSync(diary, 'utf8').includes('second media_available'));
  await uploaded('second media_created');

  // As editors save that put a new file in the place of the old one.
  const atSecond = starts();
  await saved(() => {
    writeHandlers('third', undefined, 'tracks.new');
    renameSync(join(copy, 'src/handlers/tracks.new'), join(copy, 'src/handlers/tracks.ts'));
  });
  await until(() => starts() > atSecond);
  await uploaded('third media_available');

  const group = -present(running.pid);
  process.kill(group, 'SIGINT');
  await exited;
  expect(() => process.kill(group, 0)).toThrow('ESRCH');
  for (const port of ports) expect(await isOpen('127.0.0.1', port)).toBe(false);
});

// As the button of an editor ends it: a terminal would signal all of them.
test.each(['dev', 'demo'])(
  'npm run %s ends and leaves nothing, when npm alone is told to',
  async (script) => {
    const [PORT, ADMIN_PORT, MOCK_PORT] = [await freePort(), await freePort(), await freePort()];
    running = run(script, { HOST: '127.0.0.1', PORT, ADMIN_PORT, MOCK_PORT });
    running.stdout?.resume();
    running.stderr?.resume();
    const group = -present(running.pid);
    while (!(await isOpen('127.0.0.1', PORT))) await pause();
    running.kill('SIGTERM');
    await until(() => {
      try {
        return !process.kill(group, 0);
      } catch {
        return true;
      }
    });
    for (const port of [PORT, ADMIN_PORT, MOCK_PORT]) expect(await isOpen('127.0.0.1', port)).toBe(false);
  },
);
