import { keptFixture } from '../../support/sqlite-fixture.ts';
import { describeEventStore } from '../conformance.ts';

describeEventStore('SQLite', keptFixture());
