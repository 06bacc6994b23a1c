import pg from 'pg';
import type { SharedPostgres } from './shared-postgres.ts';

/** What the server may believe of the tables, from which it plans statements. */
export const BELIEFS = [
  'knows the tables well',
  'has never looked at the tables',
  'believes that the tables are empty',
] as const;

export type Belief = (typeof BELIEFS)[number];

const OURS = "relnamespace = 'hookkit'::regnamespace AND relkind = 'r'";
const FORGET = `DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE ${OURS})`;

const STATEMENTS: Readonly<Record<Belief, readonly string[]>> = {
  'knows the tables well': ['ANALYZE'],
  'has never looked at the tables': [
    FORGET,
    `UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE ${OURS}`,
  ],
  // As it does once it has looked at a table whose rows were all gone and whose pages were still there.
  'believes that the tables are empty': [
    FORGET,
    `UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE ${OURS}`,
  ],
};

/** Has the server believe something of the tables of a database until it looks at them again. */
export async function letBelieve(server: SharedPostgres, name: string, belief: Belief): Promise<void> {
  const admin = new pg.Client(server.adminUrl(name));
  await admin.connect();
  try {
    for (const statement of STATEMENTS[belief]) await admin.query(statement);
  } finally {
    await admin.end();
  }
}
