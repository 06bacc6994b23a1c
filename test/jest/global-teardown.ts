import { RUN, type Run } from './global-setup.ts';

/** After the last suite of a run. A run that is killed before has its server ended by the keeper of that (see postgres-server.ts). */
export default async function tearDown(): Promise<void> {
  const run: Run | undefined = Reflect.get(globalThis, RUN);
  await run?.postgres.close();
}
