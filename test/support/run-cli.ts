import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';
import { endAfterSuite } from './left-behind.ts';

export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Buffer;
  readonly cwd?: string;
  /** of callCli: whether stdout and stderr are a terminal */
  readonly isTTY?: boolean;
  /** bin/hookkit.js of another copy of the program */
  readonly cli?: string;
  /** the Node to run it with */
  readonly node?: string;
  /** told of the process once it runs */
  readonly onSpawn?: (child: ChildProcess) => void;
}

export const ourCli = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));

/**
 * What HANDLERS is for processes of tests: the samples, never what somebody has written into src/handlers/. A copy of the
 * program has handlers of its own there.
 */
export const sampleHandlers = fileURLToPath(new URL('../../src/demo/handlers.ts', import.meta.url));

/** The error of the line that a server ends its log with, if it does not start where stdout is no terminal. */
export const refusalIn = ({ stdout }: CliRun): string => {
  const { level, msg, error } = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
  return [level, msg].join() === 'fatal,did not start' ? error : '';
};

/** The environment of a process of the program in which a test has set nothing else. */
export const programEnv = { PATH: process.env.PATH ?? '', HANDLERS: sampleHandlers };

/** Runs `hookkit` as a user would, in a process of its own, which takes some 0.2 s to start. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const child = spawn(options.node ?? process.execPath, [options.cli ?? ourCli, ...args], {
    cwd: options.cwd ?? tmpdir(), // a .env of whoever runs the tests is not to count
    env: { ...(options.cli ? { PATH: programEnv.PATH } : programEnv), ...options.env },
  });
  child.once(
    'exit',
    endAfterSuite(() => child.kill('SIGKILL')),
  );
  options.onSpawn?.(child);
  child.stdin.on('error', () => {}); // a process that is killed reads nothing
  child.stdin.end(options.stdin ?? '');
  return endOf(child);
}

/** What a process prints, and how it ends. */
export async function endOf(
  child: ChildProcessByStdio<null | Writable, Readable, Readable>,
): Promise<CliRun> {
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ]);
  return { code, stdout, stderr };
}

/** The calls of one suite, which come one after the other: they share the process. */
let calls: Promise<unknown> = Promise.resolve();

/**
 * Runs `hookkit` in this process, which takes some milliseconds: for commands of which the point is what they do. Files of handlers are
 * loaded once. One has its own process all the same, if it is to be told of, or a thread would end it within an endless loop.
 */
export function callCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  if (options.onSpawn || /^(handlers try|events check)\b/.test(args.join(' '))) return runCli(args, options);
  const called = calls.then(() => call(args, options));
  calls = called.catch(() => {});
  return called;
}

async function call(args: readonly string[], { env, stdin = '', cwd = tmpdir(), isTTY }: CliOptions) {
  const { run } = await import('../../src/cli/main.ts');
  const before = process.cwd();
  const own = { env: process.env, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr };
  const [stdout, stderr] = [new Sink(), new Sink()];
  for (const sink of [stdout, stderr]) Object.assign(sink, { isTTY });
  const streams = { stdin: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]), stdout, stderr };
  replace({ env: { ...programEnv, ...env }, ...streams, exit() {} }); // a command that loads handlers ends its process later
  process.chdir(cwd);
  try {
    const code = await run(args);
    return { code, stdout: stdout.written, stderr: stderr.written };
  } finally {
    process.chdir(before);
    replace(own);
  }
}

/** Gives this suite's `process` other members. */
function replace(members: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(members))
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
}

class Sink extends Writable {
  written = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += chunk;
    done();
  }
}

/** Runs it in a process of its own, to look at what it says and to send it a signal while it runs. */
export function startCli(args: readonly string[], options: CliOptions = {}) {
  let child: ChildProcess | undefined;
  let said = '';
  const onSpawn = (spawned: ChildProcess) => {
    child = spawned;
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text) => {
        said += text;
      });
  };
  return {
    ended: runCli(args, { ...options, onSpawn }),
    /** All that it has written so far. */
    said: () => said,
    says: (text: string) => eventually(`it says ${text}`, () => said.includes(text)),
    kill: (signal: NodeJS.Signals) => child?.kill(signal),
  };
}
