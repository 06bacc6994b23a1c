import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Reader } from './show-runs.ts';

/** A key of a running command. */
export interface Key {
  readonly key: string;
  /** what it does, as an imperative */
  readonly what: string;
  press(): Promise<void> | void;
}

/** How often it is looked whether the terminal is this process's. */
const LOOK_MS = 500;

/**
 * Takes keys from the terminal, each with Enter behind it: the terminal stays as it was, so that Ctrl-C is a signal as ever
 * and nothing is to be restored, however this process ends. Without a terminal no key is taken. `?` lists the keys.
 * @returns ends that
 */
export function takeKeys(
  keys: readonly Key[],
  stdin: Readable & { readonly isTTY?: boolean },
  { say }: Pick<Reader, 'say'>,
): () => void {
  if (stdin.isTTY !== true) return () => {};
  const press = async (typed: string) => {
    const pressed = keys.find(({ key }) => key === typed);
    if (!pressed) return typed === '' ? undefined : say(helpOn(keys));
    try {
      await pressed.press();
    } catch (error) {
      say(`${typed}: ${messageOf(error)}`);
    }
  };
  // In the background, reading from the terminal would suspend this process, and all that the shell started with it.
  const follow = () => (isInForeground() ? lines.resume() : lines.pause());
  // A shell tells of the way to the background by SIGCONT, and of the way back not always.
  let cancelLook = () => {};
  const look = () => {
    follow();
    cancelLook = systemClock.after(LOOK_MS, look);
  };
  stdin.on('error', () => {}); // the terminal is gone: a signal says so
  const lines = createInterface({ input: stdin, terminal: false }).on('line', (line) => press(line.trim()));
  process.on('SIGCONT', follow);
  look();
  return () => {
    cancelLook();
    process.off('SIGCONT', follow);
    lines.close();
  };
}

/** The keys and what they do, a line each. */
export function helpOn(keys: readonly Key[]): string {
  const rows = [...keys, { key: '?', what: 'list these keys' }, { key: 'Ctrl-C', what: 'stop' }];
  return rows.map(({ key, what }) => `  ${key.padEnd(7)} ${what}`).join('\n');
}

/** Whether the terminal is this process's to read from; Linux alone tells, by proc_pid_stat(5). */
function isInForeground(): boolean {
  try {
    const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
    const [, , group, , , foreground] = fields.split(' ');
    return group === foreground;
  } catch {
    return true;
  }
}
