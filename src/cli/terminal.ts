import { AsyncLocalStorage } from 'node:async_hooks';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { systemClock } from '../base/clock.ts';

/** The streams that a command reads from and writes to. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** the directory that relative paths start from */
  readonly cwd: string;
  /** aborts the command as Ctrl-C does; without it, SIGINT and SIGTERM of the process do */
  readonly signal?: AbortSignal | undefined;
}

interface Run {
  readonly terminal: Terminal;
  exitCode: number;
  /** ends the process once the command is done */
  end: ((exitCode: number) => void) | undefined;
}

/** The command that is running. Several may run in one process, so each has its own. */
const runs = new AsyncLocalStorage<Run>();

/**
 * Runs a command on a terminal. Resolves with the exit code that the command set with `setExitCode`, or 0; or ends the
 * process with it, as `endProcess` asked.
 */
export async function onTerminal(terminal: Terminal, command: () => Promise<void>): Promise<number> {
  const run: Run = { terminal, exitCode: 0, end: undefined };
  await runs.run(run, command);
  run.end?.(run.exitCode);
  return run.exitCode;
}

/** The terminal of the running command; outside of any command, the one of the process. */
export function terminal(): Terminal {
  return runs.getStore()?.terminal ?? processTerminal();
}

function processTerminal(): Terminal {
  const { stdout, stderr } = process;
  return {
    // Not opened before a command reads it.
    get stdin() {
      return process.stdin;
    },
    stdout,
    stderr,
    cwd: process.cwd(),
  };
}

/** Whether the running command has the process to itself, so that it may handle uncaught errors. */
export function ownsProcess(): boolean {
  return terminal().signal === undefined;
}

/** Sets the exit code of the running command, for a result that is no error. */
export function setExitCode(code: number): void {
  const run = runs.getStore();
  if (run) run.exitCode = code;
}

/** Ends the process once the running command is done, whatever still runs in it; but not a process that it shares. */
export function endProcess(): void {
  const run = runs.getStore();
  if (run && ownsProcess()) run.end = (code) => process.exit(code);
}

/**
 * Ends the process so many milliseconds after the running command is done, unless it ends by itself before; but not a process that it
 * shares, and not later than `endProcess` asked.
 * @param before called just before the process ends
 */
export function endProcessSoon(ms: number, before: () => void): void {
  const run = runs.getStore();
  if (!run || !ownsProcess()) return;
  run.end ??= (code) =>
    void systemClock.after(ms, () => {
      before();
      process.exit(code);
    });
}

/** A path that an option gives, as this process opens it. */
export function pathOf(given: string): string {
  const { cwd } = terminal();
  return cwd === process.cwd() ? given : resolve(cwd, given);
}

/**
 * Calls `listener` at each SIGINT or SIGTERM that the running command gets.
 * @returns stops that
 */
export function onInterrupt(listener: () => void): () => void {
  const { signal } = terminal();
  if (signal) {
    if (signal.aborted) listener();
    signal.addEventListener('abort', listener);
    return () => signal.removeEventListener('abort', listener);
  }
  process.on('SIGINT', listener).on('SIGTERM', listener);
  return () => process.off('SIGINT', listener).off('SIGTERM', listener);
}
