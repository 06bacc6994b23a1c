import { PostgresDesk } from './postgres-desk.ts';

/** Where the two hooks of a run keep what they share. */
export const RUN = Symbol.for('webhook-receiver-kit test run');

export interface Run {
  readonly postgres: PostgresDesk;
}

/** Before the first suite of a run, in its main process. What it sets in the environment, the processes of suites inherit. */
export default async function setUp(): Promise<void> {
  const postgres = await PostgresDesk.open();
  Reflect.set(globalThis, RUN, { postgres } satisfies Run);
  process.env.POSTGRES_DESK = postgres.path;
}
