import { randomBytes } from 'node:crypto';
import { connected } from '../test/support/postgres-databases.ts';

/** Measures on the server that BENCH_POSTGRES names; says so where it names none. */
export async function onServer(measure: (server: string) => Promise<string>): Promise<string> {
  const server = process.env.BENCH_POSTGRES;
  if (server) return measure(server);
  return 'Not measured: BENCH_POSTGRES names no server (postgres://USER@HOST:PORT/postgres).';
}

/** A database of its own, which is dropped afterwards. */
export async function withDatabase<T>(server: string, use: (url: string) => Promise<T>): Promise<T> {
  const name = `bench_${randomBytes(4).toString('hex')}`;
  return connected(server, async (admin) => {
    try {
      await admin.query(`CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
      const url = new URL(server);
      url.pathname = `/${name}`;
      return await use(url.href);
    } finally {
      await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    }
  });
}
