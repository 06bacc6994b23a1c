/**
 * For every statement, set within each transaction: behind PgBouncer a connection is only lent for one. Statements are not compiled: a
 * query that the planner thinks expensive, as many look-ups by keys are, took up to 4 s for that and 5 ms to run. A
 * process that stands still within a transaction gives up what it has locked after three seconds, so that the others go on.
 */
export const LIMITS = `SET LOCAL jit = off; SET LOCAL statement_timeout = '15s'; SET LOCAL lock_timeout = '5s';
  SET LOCAL idle_in_transaction_session_timeout = '3s'`;
