import { join } from 'node:path';
import { type TestDatabase, testDatabase } from './engine.ts';
import { type Installation, install } from './installation.ts';

/** An installation on a database of the engine that the tests run on, which is removed with it. */
export interface InstallationOnEngine extends Installation {
  readonly database: TestDatabase;
}

export async function installOnEngine(): Promise<InstallationOnEngine> {
  const installation = await install();
  const database = await testDatabase(join(installation.directory, 'data'));
  Object.assign(installation.env, database.env);
  return {
    ...installation,
    database,
    async dispose() {
      await installation.dispose();
      await database.remove();
    },
  };
}
