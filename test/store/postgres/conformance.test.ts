import { postgresFixture } from '../../support/postgres-fixture.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { describeStoreOnServer } from '../conformance.ts';

await describeWithPostgres('a database of PostgreSQL', (server) =>
  describeStoreOnServer('PostgreSQL', postgresFixture(server)),
);
