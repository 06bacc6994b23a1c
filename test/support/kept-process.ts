import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/**
 * Stands between us and a server, as its parent: it ends the server and removes its folder once we are gone, however we
 * ended, as the pipe that it reads from ends with us. A line on that pipe says that the server has ended.
 */
const KEEPER = `
folder=$1; signal=$2; shift 2
"$@" </dev/null >&2 &
echo $!
exec >/dev/null 2>&1
if read -r line; then wait; else kill -$signal $!; wait; rm -rf "$folder"; fi
`;

/** Who runs a server, where that is somebody else than we. */
export interface Runner {
  readonly uid?: number;
  readonly gid?: number;
}

export interface Keeping {
  /** where it runs; removed with it when our process ends */
  readonly folder: string;
  readonly as: Runner;
  /** ends it at once; SIGQUIT only where it has a handler for that, as a shell has what it starts ignore it */
  readonly end: 'QUIT' | 'TERM';
  /** told each line of its log */
  readonly onLine: (line: string) => void;
  /** whether this line says that it has started */
  readonly isReady: (line: string) => boolean;
}

/** A server that ends with our process, even if that is killed. */
export interface KeptProcess {
  readonly pid: number;
  /** when all its processes have ended */
  readonly isOver: Promise<void>;
  /** Does at once what would be done if our process ended. */
  abandon(): void;
}

/** What a server gets of our environment: no PGDATA or TZ of the machine, no settings of Node. */
export function environmentOfServers(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C' };
}

/** Starts a server that logs to its standard streams. Undefined if it ended before it was ready. */
export async function startKept(
  command: readonly string[],
  { folder, as, end, onLine, isReady }: Keeping,
): Promise<KeptProcess | undefined> {
  const keeper = spawn('sh', ['-c', KEEPER, 'keeper', folder, end, ...command], {
    ...as,
    cwd: folder,
    env: environmentOfServers(),
    stdio: ['pipe', 'pipe', 'pipe'],
    // Ctrl-C at our terminal is for us; the server ends when we have.
    detached: true,
  });
  keeper.stdin.on('error', () => {}); // it has ended
  await once(keeper, 'spawn');
  const log = createInterface(keeper.stderr);
  const started = new Promise<boolean>((resolve) => {
    log.on('line', (line) => {
      onLine(line);
      if (isReady(line)) resolve(true);
    });
    log.on('close', () => resolve(false));
  });
  // All processes of a server share its log, so it ends with the last of them.
  const isOver = once(log, 'close').then(async () => {
    if (hasEnded(keeper)) return;
    keeper.stdin.end('\n');
    await once(keeper, 'exit');
  });
  const [pid] = await once(createInterface(keeper.stdout), 'line');
  if (await started) return { pid: Number(pid), isOver, abandon: () => void keeper.stdin.destroy() };
  await isOver;
  return undefined;
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
