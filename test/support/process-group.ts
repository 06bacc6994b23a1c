import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from './eventually.ts';
import { endAfterSuite } from './left-behind.ts';
import { present } from './only.ts';

/** Starts a command in a group of processes of its own, as a terminal gives it one. It ends with the suite at the latest. */
export function startGroup(
  [program = '', ...args]: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
) {
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  const group = -present(child.pid);
  const isThere = () => {
    try {
      return process.kill(group, 0);
    } catch {
      return false;
    }
  };
  const forget = endAfterSuite(() => isThere() && process.kill(group, 'SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  return {
    child,
    output: () => output,
    /** Sends a signal to all of it. */
    kill: (signal: NodeJS.Signals) => process.kill(group, signal),
    /** Resolves once nothing of it is left. */
    async gone(): Promise<void> {
      await closed;
      await eventually(`nothing of ${program} is left`, () => !isThere());
      forget();
    },
  };
}
