import { memoryStage } from '../../support/crash-stage.ts';
import { describeCrashes } from '../conformance/crashes.ts';

describeCrashes('the store in memory', memoryStage);
