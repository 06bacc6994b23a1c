import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { endAfterSuite } from './left-behind.ts';
import { ourCli, programEnv } from './run-cli.ts';

/** A service in a process of its own. */
export type ServiceProcess = Awaited<ReturnType<typeof startProcess>>;

/**
 * Starts `hookkit serve` and waits until it listens. Its stop waits for no balancer.
 * @param cwd where its .env is; that of whoever runs the tests is not to count
 * @param cli bin/hookkit.js of another copy of the program
 * @param limits a command that lowers its limits and runs it, such as prlimit
 */
export async function startProcess(
  env: Readonly<Record<string, string>>,
  cwd: string = tmpdir(),
  cli: string = ourCli,
  limits: readonly string[] = [],
) {
  const base = cli === ourCli ? programEnv : { PATH: programEnv.PATH };
  const [program = '', ...args] = [...limits, process.execPath, cli, 'serve'];
  const child = spawn(program, args, {
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
    /** Resolves with its exit code, or null where a signal ended it. */
    exited,
    /** What it has printed so far, both streams. */
    output: () => output,
    /** Ends it in order. @throws if it does not exit with 0 */
    async stop(): Promise<void> {
      child.kill('SIGTERM');
      const code = await exited;
      if (code !== 0) throw new Error(`the service ended with ${code}:\n${output}`);
    },
    /** Ends it at once. The suite does so at its end. */
    kill() {
      child.kill('SIGKILL');
      return exited;
    },
  };
}
