import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Waits beside a server, for the end of its standard input: that comes when our process ends, even if it is killed. */
const KEEPER = 'read -r _; kill -QUIT "$1"; sleep 1; rm -rf "$2"';

/** Who runs a server, if our user may not. */
export interface Runner {
  readonly uid?: number;
  readonly gid?: number;
}

export interface Keeping {
  /** where it runs; removed with it when our process ends */
  readonly folder: string;
  readonly as: Runner;
  /** told each line of its log */
  readonly onLine: (line: string) => void;
  /** whether this line says that it has started */
  readonly isReady: (line: string) => boolean;
}

/** A server that ends with our process. */
export type KeptProcess = NonNullable<Awaited<ReturnType<typeof startKept>>>;

/** What a server gets of our environment: no PGDATA or TZ of the machine, no settings of Node. */
export const serverEnv: NodeJS.ProcessEnv = { PATH: process.env.PATH, LC_ALL: 'C' };

/** Starts a server that logs to its standard error. Undefined if it ended before it was ready. */
export async function startKept(
  [program = '', ...args]: readonly string[],
  { folder, as, onLine, isReady }: Keeping,
) {
  const server = spawn(program, args, {
    ...as,
    cwd: folder,
    env: serverEnv,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true, // Ctrl-C at our terminal is for us
  });
  /** when all its processes have ended */
  const isOver = once(server, 'close');
  const pid = server.pid ?? 0;
  const keeper = spawn('sh', ['-c', KEEPER, 'keeper', `${pid}`, folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  void isOver.then(() => keeper.kill('SIGKILL'));
  const isStarted = await new Promise<boolean>((resolve) => {
    createInterface(server.stderr).on('line', (line) => {
      onLine(line);
      if (isReady(line)) resolve(true);
    });
    server.once('close', () => resolve(false));
  });
  return isStarted ? { pid, isOver } : undefined;
}
