import { postgresStage } from '../../support/postgres-crash-stage.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { size } from '../../support/sizes.ts';
import { describeCrashes } from '../conformance/crashes.ts';
import { describeModelWithCrashes } from '../conformance/model.ts';

await describeWithPostgres('crashes on PostgreSQL', (server) => {
  describeCrashes('PostgreSQL', postgresStage(server), 3);
  if (size({ small: false, full: true })) describeModelWithCrashes(postgresStage(server));
});
