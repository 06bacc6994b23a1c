import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { appendFile, chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { type KeptProcess, type Runner, startKept } from './kept-process.ts';
import {
  type Binaries,
  binaries,
  copyInitialised,
  copyRunning,
  give,
  OWNER,
  type Passwords,
  runner,
} from './postgres-binaries.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A PostgreSQL server on which tests make databases. */
export interface DatabaseServer {
  /** As the role that owns the databases of tests; it is no superuser, as at an operator's. */
  url(database: string): string;
  /** As a superuser. */
  adminUrl(database?: string): string;
}

export interface PostgresOptions {
  /** Whether commits wait for the disk, as they do at an operator's. Off by default: what dies in tests is a process. */
  readonly durable?: boolean;
  /** settings of postgresql.conf, beside those that tests have */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** contents of files beside its databases, by name */
  readonly files?: Readonly<Record<string, string>>;
}

/** How a server is stopped: `fast` cuts connections and writes a checkpoint, `immediate` leaves the rest to recovery. */
export type StopMode = 'fast' | 'immediate';

const PORT_TAKEN = /could not bind IPv4 address/;

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  // Suites run side by side, and each has pools of its own.
  max_connections: 300,
  // An operator's server may have any; who relies on UTC has to say so.
  timezone: 'Asia/Kathmandu',
  log_checkpoints: 'off',
  // A standby that has just been copied asks for what was written meanwhile.
  wal_keep_size: '64MB',
};

const NOT_DURABLE = {
  fsync: 'off',
  full_page_writes: 'off',
  // Tests may have their files in memory.
  max_wal_size: '64MB',
};

/** A real server in a temporary folder, on a port of its own. It ends with our process, even if that is killed. */
export class PostgresServer implements DatabaseServer {
  /** with its socket and, below `data`, its databases */
  readonly folder: string;
  readonly #binaries: Binaries;
  #passwords: Passwords;
  readonly #runner: Runner;
  readonly #settings: Readonly<Record<string, string | number>>;
  readonly #lines: string[] = [];
  #port: number | undefined;
  #running: KeptProcess | undefined;

  private constructor(
    folder: string,
    parts: {
      readonly programs: Binaries;
      readonly passwords: Passwords;
      readonly as: Runner;
      readonly settings: Readonly<Record<string, string | number>>;
    },
  ) {
    this.folder = folder;
    this.#binaries = parts.programs;
    this.#passwords = parts.passwords;
    this.#runner = parts.as;
    this.#settings = parts.settings;
  }

  /**
   * Makes one that is not started yet.
   * @throws where there are no binaries for this machine
   */
  static async make({
    durable = false,
    settings = {},
    files = {},
  }: PostgresOptions = {}): Promise<PostgresServer> {
    const as = runner();
    const folder = await temporaryDirectory();
    try {
      await chmod(folder, 0o711); // for the binaries, where they are copied into it
      const programs = await binaries(folder, as);
      const passwords = await copyInitialised(join(folder, 'data'), programs, as);
      for (const [name, content] of Object.entries(files))
        await writeFile(join(folder, 'data', name), content, { mode: 0o600 });
      await give(folder, as);
      return new PostgresServer(folder, {
        programs,
        passwords,
        as,
        settings: { ...SETTINGS, ...(!durable && NOT_DURABLE), unix_socket_directories: folder, ...settings },
      });
    } catch (error) {
      await rm(folder, { recursive: true });
      throw error;
    }
  }

  /** Starts it, on the same port as before. */
  async start(): Promise<void> {
    for (;;) {
      const line = this.#lines.length;
      const hasPort = this.#port !== undefined;
      this.#port ??= await freePort();
      if (await this.#tryToStart(this.#port)) return;
      const said = this.#lines.slice(line).join('\n');
      if (hasPort || !PORT_TAKEN.test(said)) throw new Error(`PostgreSQL does not start:\n${said}`);
      this.#port = undefined;
    }
  }

  async stop(mode: StopMode = 'fast'): Promise<void> {
    await this.#end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
  }

  /** Ends all its processes at once, with SIGKILL. */
  async kill(): Promise<void> {
    const running = this.#running;
    if (!running) return;
    // Stopped first, as it starts another process in place of one that ends.
    process.kill(running.pid, 'SIGSTOP');
    const children = execFileSync('pgrep', ['-P', String(running.pid)], { encoding: 'utf8' });
    execFileSync('kill', ['-KILL', String(running.pid), ...children.trim().split('\n')]);
    await running.isOver;
  }

  /**
   * Makes this server, which does not run, a standby of one that does: its databases become a copy, and once it is started it
   * receives what the primary writes.
   * @param name under which the primary knows it
   */
  async follow(primary: PostgresServer, name: string): Promise<void> {
    const data = join(this.folder, 'data');
    await rm(data, { recursive: true });
    const admin = new pg.Client(primary.adminUrl());
    await admin.connect();
    try {
      await admin.query("SELECT pg_backup_start('a standby', fast => true)");
      await copyRunning(join(primary.folder, 'data'), data);
      const { rows } = await admin.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(false)',
      );
      await writeFile(join(data, 'backup_label'), rows[0]?.labelfile ?? '');
    } finally {
      await admin.end();
    }
    const { postgres: password } = primary.#passwords;
    const from = `host=127.0.0.1 port=${primary.port} user=postgres password=${password} application_name=${name}`;
    await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${from}'\n`);
    await writeFile(join(data, 'standby.signal'), '');
    await give(data, this.#runner);
    this.#passwords = primary.#passwords;
  }

  /** Makes a standby take writes, as after the end of its primary. */
  async promote(): Promise<void> {
    const admin = new pg.Client(this.adminUrl());
    await admin.connect();
    try {
      await admin.query('SELECT pg_promote()');
    } finally {
      await admin.end();
    }
  }

  /** Stops it and removes its folder. */
  async remove(): Promise<void> {
    await this.stop('immediate');
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The same at once, by what would do it if we were killed. */
  abandon(): void {
    if (this.#running) this.#running.abandon();
    else rmSync(this.folder, { recursive: true, force: true });
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  get port(): number {
    if (this.#port === undefined) throw new Error('a server has a port once it was started');
    return this.#port;
  }

  url(database: string): string {
    return `postgres://${OWNER}:${this.#passwords.owner}@127.0.0.1:${this.port}/${database}`;
  }

  adminUrl(database = 'postgres'): string {
    return `postgres://postgres:${this.#passwords.postgres}@127.0.0.1:${this.port}/${database}`;
  }

  /** what it has logged so far */
  get logs(): readonly string[] {
    return this.#lines;
  }

  async #tryToStart(port: number): Promise<boolean> {
    const settings = Object.entries({ ...this.#settings, port }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const server = [this.#binaries.postgres, '-D', join(this.folder, 'data'), ...settings];
    const running = await startKept(server, {
      folder: this.folder,
      as: this.#runner,
      end: 'QUIT',
      onLine: (line) => this.#lines.push(line),
      isReady: (line) => line.includes('ready to accept'),
    });
    this.#running = running;
    void running?.isOver.then(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return running !== undefined;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#running;
    if (!running) return;
    process.kill(running.pid, signal);
    await running.isOver;
  }
}
