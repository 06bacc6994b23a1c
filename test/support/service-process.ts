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
}

const ourCli = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));
const NODE_COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/hookkit', import.meta.url));
const childScript = fileURLToPath(new URL('./service-child.ts', import.meta.url));

/** Starts `hookkit serve`, or a service with the handlers of a module, and waits until it listens. */
export async function startProcess(
  env: Readonly<Record<string, string>>,
  handlersModule?: URL,
  cwd: string = tmpdir(), // a .env of whoever runs the tests is not to count
  cli: string = ourCli,
): Promise<ServiceProcess> {
  const args = handlersModule ? [childScript, handlersModule.href] : [cli, 'serve'];
  const child = spawn(process.execPath, args, {
    cwd,
    env: {
      ...(cli === ourCli ? programEnv : { PATH: programEnv.PATH }),
      // As bin/hookkit.js does; without it the script and each of its threads compile everything again.
      ...(handlersModule && { NODE_COMPILE_CACHE }),
      HOST: '127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
      LOG_LEVEL: 'info',
      ...env,
    },
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
  return { child, url: `http://127.0.0.1:${port}`, exited, output: () => output };
}
