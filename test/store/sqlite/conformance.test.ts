import { sqliteFixture } from '../../support/sqlite-fixture.ts';
import { describeThreadedStore } from '../conformance.ts';

describeThreadedStore('SQLite', sqliteFixture('threads'));
