import { sqliteFixture } from '../../support/sqlite-fixture.ts';
import { describeEventStore } from '../conformance.ts';

describeEventStore('SQLite', sqliteFixture('threads'));
