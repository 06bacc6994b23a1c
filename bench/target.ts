import type { ChildProcess } from 'node:child_process';
import { ended, messageFrom, startChild } from './children.ts';
import type { Usage } from './targets/usage.ts';

/** A server that is measured, in a process of its own. */
export class Target {
  readonly port: number;
  /** whether it answers without verifying or storing anything */
  readonly recordsNothing: boolean;
  readonly #child: ChildProcess;

  private constructor(name: string, child: ChildProcess, port: number) {
    this.recordsNothing = name.startsWith('bare-');
    this.#child = child;
    this.port = port;
  }

  /** Starts a file of `targets/` with its options. */
  static async start(name: string, options: object = {}): Promise<Target> {
    const child = startChild(`./targets/${name}.ts`, options);
    const { port } = await messageFrom<{ port: number }>(child);
    return new Target(name, child, port);
  }

  /** What it has used up since it started. */
  async usage(): Promise<Usage> {
    this.#child.send('usage');
    return messageFrom<Usage>(this.#child);
  }

  /** Resolves once it has handled all that it has. */
  async handled(): Promise<void> {
    this.#child.send('handled');
    await messageFrom(this.#child);
  }

  /** Lets it handle all that it has, and stop in order. */
  async stop(): Promise<void> {
    this.#child.send('stop');
    await messageFrom(this.#child);
    await this.kill();
  }

  async kill(): Promise<void> {
    await ended(this.#child, 'SIGKILL');
  }
}

/** Has the service handle what is pending in a database, so that no measurement has it to do. */
export async function settle(database: string): Promise<void> {
  const target = await Target.start('ours', { database });
  await target.stop();
}
