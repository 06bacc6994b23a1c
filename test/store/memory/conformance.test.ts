import { memoryFixture } from '../../support/memory-fixture.ts';
import { describeEventStore } from '../conformance.ts';

describeEventStore('in memory', memoryFixture);
