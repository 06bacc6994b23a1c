import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, type FSWatcher, watch } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pause, systemClock, within } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';

/** How soon a process that is told to stop says that it does. */
const ANSWER_MS = 1000;
const ADVICE =
  'end other programs that watch files, or raise fs.inotify.max_user_instances or max_user_watches';
/** Editors write a file in several steps. */
const SETTLING_MS = 50;

/**
 * Runs a process, and runs it again whenever a file changes that it has told of, as Node does of each file that it loads. Folders are
 * watched, not files: many editors save by putting a new file in the place of the old one.
 * @param start starts the process, with a channel for messages; the process disconnects when it begins to stop. It is told whether the one
 *   before ran until a file changed
 * @returns ends it for good
 */
export function restartAtChanges(start: (runsAgain: boolean) => ChildProcess, say: (text: string) => void) {
  const files = new Set<string>();
  const folders = new Map<string, FSWatcher>();
  let child: ChildProcess;
  let phase: 'running' | 'restarting' | 'over';
  let isBlind = false;

  const begin = (runsAgain: boolean) => {
    phase = 'running';
    child = start(runsAgain);
    child.on('message', (told: Readonly<Record<string, readonly (string | null)[]>>) => {
      for (const file of Object.values(told).flat()) include(file ?? '');
    });
    child.once('exit', (code, signal) => {
      if (phase !== 'running') return;
      const then = folders.size === 0 ? '' : ', and starts again when a file changes';
      say(`dev: ended with ${signal ?? code}${then}`);
    });
  };
  const restart = async (file: string) => {
    if (phase !== 'running') return;
    phase = 'restarting';
    say(`dev: ${relative('', file)} has changed`);
    const ranOn = isRunning(child);
    await Promise.all([end(child, 'SIGTERM'), pause(systemClock, SETTLING_MS)]);
    if (phase === 'restarting') begin(ranOn);
  };
  const include = (told: string) => {
    const file = told.startsWith('file:') ? fileURLToPath(told) : told;
    const folder = dirname(file);
    if (!isAbsolute(file) || file.includes('/node_modules/')) return;
    files.add(file);
    if (folders.has(folder) || !existsSync(folder)) return;
    try {
      const watcher = watch(folder, (_, name) => {
        const changed = join(folder, name ?? '');
        if (files.has(changed)) void restart(changed);
        if (existsSync(folder)) return;
        watcher.close(); // the next folder of this name is another one
        folders.delete(folder);
      });
      folders.set(folder, watcher);
    } catch (error) {
      if (!isBlind)
        say(`dev: cannot watch for changes (${messageOf(error)}), and goes on without: ${ADVICE}`);
      isBlind = true;
    }
  };

  begin(false);
  return (signal: NodeJS.Signals): Promise<void> => {
    phase = 'over';
    return end(child, signal);
  };
}

const isRunning = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null;

/** Ends a process. If it does not say that it stops, its event loop stands still, and it is killed. */
async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!isRunning(child)) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  if (child.connected)
    await within(systemClock, ANSWER_MS, Promise.race([exited, once(child, 'disconnect')]));
  if (child.connected) child.kill('SIGKILL');
  await exited;
}
