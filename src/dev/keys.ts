import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { messageOf } from '../base/errors.ts';
import { isUnderWay } from '../replay/sources.ts';
import type { Service } from '../service.ts';

/** A key of a running command. */
export interface Key {
  readonly key: string;
  /** what it does, as an imperative */
  readonly what: string;
  press(): Promise<void> | void;
}

/**
 * Takes keys from the terminal, each with Enter behind it: the terminal stays as it was, so that Ctrl-C is a signal as ever
 * and nothing is to be restored, however this process ends. Without a terminal no key is taken. `?` lists the keys.
 * @returns ends that
 */
export function takeKeys(
  keys: readonly Key[],
  stdin: Readable & { readonly isTTY?: boolean },
  say: (text: string) => void,
): () => void {
  // In the background, reading from the terminal would suspend this process, and all that the shell started with it.
  if (stdin.isTTY !== true || !isInForeground()) return () => {};
  const rows = [...keys, { key: '?', what: 'list these keys' }, { key: 'Ctrl-C', what: 'stop' }];
  const help = rows.map(({ key, what }) => `  ${key.padEnd(7)} ${what}`).join('\n');
  const press = async (line: string) => {
    const typed = line.trim();
    const pressed = keys.find(({ key }) => key === typed);
    if (!pressed) return typed === '' ? undefined : say(help);
    try {
      await pressed.press();
    } catch (error) {
      say(`${typed}: ${messageOf(error)}`);
    }
  };
  stdin.on('error', () => {}); // the terminal is gone: a signal says so
  const lines = createInterface({ input: stdin, terminal: false }).on('line', press);
  return () => lines.close();
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

/** How many events are handled again. */
const MOST = 20;
/** Among so many of the newest they are looked for. */
const LOOKED_AT = 200;

/**
 * Has the last events that have ended, or that wait for a retry, handled again by the running dispatcher.
 * @param options `resetSteps` has every step of `ctx.once` run again, too
 * @returns how many
 */
export async function replayLast(
  { store, dispatcher }: Service,
  options: { readonly resetSteps?: boolean } = {},
): Promise<number> {
  const { events } = await store.queue.search({ limit: LOOKED_AT });
  const last = events.filter((event) => !isUnderWay(event) && event.body !== undefined).slice(0, MOST);
  if (last.length === 0) return 0;
  const { events: replayed } = await store.queue.replay({ ids: last.map(({ id }) => id) }, options);
  dispatcher.wake();
  return replayed;
}
