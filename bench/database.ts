import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { PostgresServer } from '../test/support/postgres-server.ts';
import { withScratch } from './stage.ts';

export type EngineName = 'SQLite' | 'PostgreSQL';

/** Gives `use` the URL of a new database, which is gone afterwards. */
export function withDatabase<T>(engine: EngineName, use: (url: string) => Promise<T>): Promise<T> {
  if (engine === 'PostgreSQL') return withPostgres(use);
  return withScratch((directory) => use(`sqlite:${join(directory, 'receiver.db')}`));
}

let started: Promise<string> | undefined;

/** The server that BENCH_POSTGRES names, or one of our own; it waits for the disk, and checkpoints as seldom as by default. */
async function server(): Promise<string> {
  if (process.env.BENCH_POSTGRES) return process.env.BENCH_POSTGRES;
  const own = await PostgresServer.start({ durable: true, settings: { max_wal_size: '1GB' } });
  return own.adminUrl();
}

async function withPostgres<T>(use: (url: string) => Promise<T>): Promise<T> {
  started ??= server();
  const admin = new pg.Client(await started);
  await admin.connect();
  const name = `bench_${randomBytes(4).toString('hex')}`;
  try {
    await admin.query(`CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
    const url = new URL(await started);
    url.pathname = `/${name}`;
    return await use(url.href);
  } finally {
    await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await admin.end();
  }
}
