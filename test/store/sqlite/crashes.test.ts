import { sqliteStage } from '../../support/crash-stage.ts';
import { describeCrashes } from '../conformance/crashes.ts';
import { describeModelWithCrashes } from '../conformance/model.ts';

describeCrashes('SQLite', sqliteStage);
describeModelWithCrashes(sqliteStage);
