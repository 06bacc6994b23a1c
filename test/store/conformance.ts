import { describe } from '@jest/globals';
import { size } from '../support/sizes.ts';
import { type CurrentFixture, eachWithStore, type StoreFactory } from '../support/store-fixture.ts';
import { describeChannelStates } from './conformance/channels.ts';
import { describeClaiming } from './conformance/claim.ts';
import { describeClockReadings } from './conformance/clock-readings.ts';
import { describeDurability } from './conformance/durability.ts';
import { describeGlance } from './conformance/glance.ts';
import { describeLeases } from './conformance/leases.ts';
import { describeModel } from './conformance/model.ts';
import { describePruning } from './conformance/prune.ts';
import { describeQuarantine } from './conformance/quarantine.ts';
import { describeQuarantineShares } from './conformance/quarantine-shares.ts';
import { describeQueries } from './conformance/queries.ts';
import { describeRecording } from './conformance/record.ts';
import { describeReplay } from './conformance/replay.ts';
import { describeReplayRounds } from './conformance/replay-rounds.ts';
import { describeSearch } from './conformance/search.ts';
import { describeSecrets } from './conformance/secrets.ts';
import { describeSettling } from './conformance/settle.ts';
import { describeStarts } from './conformance/starts.ts';
import { describeState } from './conformance/state.ts';
import { describeSteps } from './conformance/steps.ts';
import { describeWatching } from './conformance/watch.ts';

type Section = (fixture: CurrentFixture) => void;

const SECTIONS: readonly Section[] = [
  describeRecording,
  describeClaiming,
  describeLeases,
  describeSettling,
  describeStarts,
  describeSteps,
  describeState,
  describeReplay,
  describeReplayRounds,
  describeQueries,
  describeSearch,
  describeGlance,
  describeSecrets,
  describeQuarantine,
  describePruning,
  describeClockReadings,
  describeChannelStates,
  describeQuarantineShares,
  describeDurability,
  describeWatching,
];

/** What every EventStore promises, whatever database is behind it. */
export function describeEventStore(name: string, factory: StoreFactory, sections = SECTIONS): void {
  describe(name, () => {
    const fixture = eachWithStore(factory);
    for (const section of sections) section(fixture);
  });

  describe(`${name} against a model`, () => describeModel(factory));
}

/** What a store with threads could break, where the same store without them keeps all promises. */
const WITH_THREADS = [
  describeRecording,
  describeLeases,
  describeReplayRounds,
  describeDurability,
  describeWatching,
];

/** What processes do to each other: where each commit costs, npm test runs these alone, beside the model. */
const AMONG_PROCESSES = [
  describeRecording,
  describeClaiming,
  describeLeases,
  describeSettling,
  describeSecrets,
  describeWatching,
];

/** The same of a store on a server, whose rules are tested with other drivers. */
export function describeStoreOnServer(name: string, factory: StoreFactory): void {
  describeEventStore(name, factory, size({ small: AMONG_PROCESSES, full: SECTIONS }));
}

/** The same of a store whose twin without threads is tested whole. */
export function describeThreadedStore(name: string, factory: StoreFactory): void {
  describeEventStore(name, factory, size({ small: WITH_THREADS, full: SECTIONS }));
}
