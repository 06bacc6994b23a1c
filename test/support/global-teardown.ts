import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { RUN } from './global-setup.ts';
import type { PostgresServer } from './postgres-server.ts';

/** After the last suite. If a run is killed before, the keeper of the server ends it (see postgres-server.ts). */
export default async function tearDown(): Promise<void> {
  const server: PostgresServer | undefined = Reflect.get(globalThis, RUN);
  await server?.remove();
  await rm(tmpdir(), { recursive: true, force: true }); // that of the run: see global-setup.ts
}
