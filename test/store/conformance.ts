import { describe } from '@jest/globals';
import { eachWithStore, type StoreFactory } from '../support/store-fixture.ts';
import { describeChannelStates } from './conformance/channels.ts';
import { describeClaiming } from './conformance/claim.ts';
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

/** What every EventStore promises, whatever database is behind it. */
export function describeEventStore(name: string, factory: StoreFactory): void {
  describe(name, () => {
    const fixture = eachWithStore(factory);
    describeRecording(fixture);
    describeClaiming(fixture);
    describeLeases(fixture);
    describeSettling(fixture);
    describeStarts(fixture);
    describeSteps(fixture);
    describeState(fixture);
    describeReplay(fixture);
    describeReplayRounds(fixture);
    describeQueries(fixture);
    describeSearch(fixture);
    describeGlance(fixture);
    describeSecrets(fixture);
    describeQuarantine(fixture);
    describePruning(fixture);
    describeChannelStates(fixture);
    describeQuarantineShares(fixture);
    describeDurability(fixture);
    describeWatching(fixture);
  });

  describe(`${name} against a model`, () => describeModel(factory));
}
