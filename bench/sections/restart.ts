import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHILD_ENV, fileAt } from '../children.ts';
import { number, table } from '../markdown.ts';
import { interleaved } from '../measure.ts';
import { withScratch } from '../scratch.ts';
import type { Sizes } from '../sizes.ts';
import type { Section } from './section.ts';

/** Restarts a round; the figure is that of the last one, when all caches are warm. */
const CHANGES = 3;
/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

/** Milliseconds, each from the moment at which the file was saved. */
interface Figures {
  readonly stopping: number;
  readonly stopped: number;
  readonly ready: number;
  /** processor time of the new process, of all its threads, until it is ready */
  readonly cpu: number;
}

/** How long `npm run dev` takes from a changed handler to the next event that it can handle. */
export const restart: Section = { title: 'Restart while developing', run };

async function run(sizes: Sizes): Promise<string> {
  const { all } = await interleaved(['all'], sizes.rounds, measure);
  const rows = [
    ['Node notices the change (it waits 200 ms for further ones)', number(all.stopping), ''],
    ['the former process has stopped', number(all.stopped - all.stopping), ''],
    ['the new process is ready', number(all.ready - all.stopped), number(all.cpu)],
    ['together', number(all.ready), ''],
  ];
  return [
    table(['from saving a file of handlers until', 'ms', 'ms of processor'], rows),
    `- \`node --watch bin/hookkit.js dev\`, restart ${CHANGES} of each round: receiver, inspector, mock provider, and an empty database.`,
  ].join('\n\n');
}

function measure(): Promise<Figures> {
  return withScratch(async (directory) => {
    const handlers = `${directory}/handlers.mjs`;
    const save = (version: number) => writeFileSync(handlers, `export const handlers = {}; // ${version}\n`);
    save(0);
    const child = spawn(process.execPath, ['--watch', fileAt('../bin/hookkit.js'), 'dev'], {
      cwd: directory,
      env: { ...CHILD_ENV, ...ANY_PORT, HANDLERS: handlers, DEV_DATABASE_URL: `sqlite:${directory}/dev.db` },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const output = new Output(child);
      await output.until('"inspecting"');
      let figures: Figures | undefined;
      for (let version = 1; version <= CHANGES; version++) {
        await sleep(1000); // the process is at rest
        figures = await change(output, child, () => save(version));
      }
      if (!figures) throw new Error('nothing was measured');
      return figures;
    } finally {
      const exited = once(child, 'exit');
      child.kill('SIGINT');
      await exited;
    }
  });
}

const ANY_PORT = { PORT: '0', ADMIN_PORT: '0', MOCK_PORT: '0', LOG_LEVEL: 'info' };

async function change(output: Output, watcher: ChildProcess, save: () => void): Promise<Figures> {
  output.forget();
  const began = performance.now();
  save();
  const stopping = await output.until('"stopping"');
  const stopped = await output.until('"stopped"');
  const ready = await output.until('"inspecting"');
  return {
    stopping: stopping - began,
    stopped: stopped - began,
    ready: ready - began,
    cpu: processorTimeOf(childOf(watcher)),
  };
}

/** What a process has printed since the last `forget`. */
class Output {
  #text = '';
  #onMore = () => {};

  constructor({ stdout }: ChildProcess) {
    stdout?.on('data', (chunk) => {
      this.#text += chunk;
      this.#onMore();
    });
  }

  forget(): void {
    this.#text = '';
  }

  /** Resolves with the moment at which a text was printed. */
  async until(text: string): Promise<number> {
    while (!this.#text.includes(text)) {
      await new Promise<void>((resolve) => {
        this.#onMore = resolve;
      });
    }
    return performance.now();
  }
}

function childOf({ pid }: ChildProcess): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
}

/** proc_pid_stat(5), in milliseconds. */
function processorTimeOf(pid: string): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) * TICK_MS;
}
