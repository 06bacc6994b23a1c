import type pg from 'pg';
import { connected, createDatabase, dropDatabase } from './postgres-databases.ts';
import type { SharedPostgres } from './shared-postgres.ts';

export interface Guest {
  /** the database, for the guest */
  readonly url: string;
  readonly role: string;
  /** as a superuser */
  readonly admin: pg.Client;
}

/** Works on a database as a role that has no right to anything in it. */
export async function workAsGuest(
  server: SharedPostgres,
  options: { readonly isEmpty: boolean },
  work: (guest: Guest) => Promise<void>,
): Promise<void> {
  const there = await createDatabase(server);
  const role = `${there}_guest`;
  const url = Object.assign(new URL(server.url(there)), { username: role, password: 'guest' }).href;
  try {
    await connected(server.adminUrl(there), async (admin) => {
      await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'guest'`);
      if (options.isEmpty) await admin.query('DROP SCHEMA hookkit CASCADE');
      await work({ url, role, admin });
    });
  } finally {
    await dropDatabase(server, there);
    await connected(server.adminUrl(), (admin) => admin.query(`DROP ROLE ${role}`));
  }
}

/** Lets the guest read and write all tables, which stay another's. */
export async function letUse({ role, admin }: Guest): Promise<void> {
  await admin.query(`GRANT USAGE ON SCHEMA hookkit TO ${role}`);
  await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hookkit TO ${role}`);
  await admin.query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA hookkit TO ${role}`);
}
