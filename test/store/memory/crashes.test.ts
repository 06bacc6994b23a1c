import { memoryStage } from '../../support/crash-stage.ts';
import { describeCrashes } from '../conformance/crashes.ts';
import { describeModelWithCrashes } from '../conformance/model.ts';

describeCrashes('the store in memory', memoryStage);
describeModelWithCrashes(memoryStage);
