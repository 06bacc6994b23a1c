/** Names of our own among the advisory locks of a database. All of them end with their transaction. */
const OURS = 0x686f6f6b; // "hook"

function lock(number: number): string {
  return `pg_advisory_xact_lock(${OURS}, ${number})`;
}

/** One process at a time changes the schema. */
export const MIGRATE_ALONE = `SELECT ${lock(1)}`;
/** One process at a time takes what is new in the ledger into work. */
export const TAKE_ALONE = `SELECT ${lock(2)}`;
/** One process at a time resets events, or makes those ready that it has reset. */
export const REPLAY_ALONE = `SELECT ${lock(3)}`;
/** One process at a time works on the secrets. */
export const SECRETS_ALONE = `SELECT ${lock(4)}`;
/** One process at a time does what keeps the tables small; true for the one that may. */
export const TIDY_ALONE = `SELECT pg_try_advisory_xact_lock(${OURS}, 5) AS mine`;
