import { sqliteStage } from '../../support/crash-stage.ts';
import { describeCrashes } from '../conformance/crashes.ts';

describeCrashes('SQLite', sqliteStage);
