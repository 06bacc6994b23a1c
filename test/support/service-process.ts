import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { endAfterSuite } from './left-behind.ts';
import { programEnv } from './sample-handlers.ts';

/** A service in a process of its own. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  readonly url: string;
  /** Resolves with its exit code, or null where a signal ended it. */
  readonly exited: Promise<number | null>;
  /** What it has printed so far, both streams. */
  output(): string;
  /** Ends it in order. @throws if it does not exit with 0 */
  stop(): Promise<void>;
  /** Ends it at once. The suite does so at its end. */
  kill(): Promise<unknown>;
}

const ourCli = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));

/**
 * Starts `hookkit serve` and waits until it listens. Its stop waits for no balancer.
 * @param cwd where its .env is; that of whoever runs the tests is not to count
 * @param cli bin/hookkit.js of another copy of the program
 */
export async function startProcess(
  env: Readonly<Record<string, string>>,
  cwd: string = tmpdir(),
  cli: string = ourCli,
): Promise<ServiceProcess> {
  const base = cli === ourCli ? programEnv : { PATH: programEnv.PATH };
  const child = spawn(process.execPath, [cli, 'serve'], {
    cwd,
    env: { ...base, HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', DRAIN_MS: '0', ...env },
  });
  const forget = endAfterSuite(() => child.kill('SIGKILL'));
  // Not at its exit: then the last that it printed may not have been read.
  const exited = once(child, 'close').then(([code]) => {
    forget();
    return code as number | null;
  });
  let output = '';
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      output += `${line}\n`;
      const parsed = line.startsWith('{') ? JSON.parse(line) : {};
      if (typeof parsed.port === 'number') resolve(parsed.port);
    });
    exited.then(() => reject(new Error(`the service ended before it listened:\n${output}`)));
  });
  return {
    child,
    url: `http://127.0.0.1:${port}`,
    exited,
    output: () => output,
    async stop() {
      child.kill('SIGTERM');
      const code = await exited;
      if (code !== 0) throw new Error(`the service ended with ${code}:\n${output}`);
    },
    kill() {
      child.kill('SIGKILL');
      return exited;
    },
  };
}
