import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { run } from '../../src/cli/main.ts';
import { endAfterSuite } from './left-behind.ts';
import { programEnv, sampleHandlers } from './sample-handlers.ts';

export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Buffer;
  readonly cwd?: string;
}

export interface RunOptions extends CliOptions {
  /** interrupts the command as Ctrl-C does */
  readonly signal?: AbortSignal;
  /** `run` of another copy of the program */
  readonly program?: typeof run;
}

export interface SpawnOptions extends CliOptions {
  /** bin/hookkit.js of another copy of the program */
  readonly cli?: string;
  /** the Node to run it with */
  readonly node?: string;
  /** told of the process once it runs */
  readonly onSpawn?: (child: ChildProcess) => void;
}

const ourCli = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));

/** Runs `hookkit` in this process. */
export async function runCli(
  args: readonly string[],
  { env, stdin = '', cwd = tmpdir(), signal, program = run }: RunOptions = {},
): Promise<CliRun> {
  const stdout = new Collector();
  const stderr = new Collector();
  const code = await program(args, {
    stdin: Readable.from([Buffer.from(stdin)]),
    stdout,
    stderr,
    env: { ...(program === run && { HANDLERS: sampleHandlers }), ...env },
    cwd, // a .env of whoever runs the tests is not to count
    signal: signal ?? new AbortController().signal,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** Keeps what is written to it. */
class Collector extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

/** Runs `hookkit` as a user would, in a process of its own: for what only a process shows, such as signals and memory. */
export async function spawnCli(args: readonly string[], options: SpawnOptions = {}): Promise<CliRun> {
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
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ]);
  return { code, stdout, stderr };
}
