import type { Queries } from '../../driver-store.ts';
import type { Session } from '../session.ts';
import { stateReads } from '../tables/steps-and-state.ts';
import { glancesOf } from './glance.ts';
import { listsOf } from './lists.ts';
import { searchesOf } from './search.ts';

/** The queries of readers. Each is one statement, or two, that see what was committed before. */
export function queriesOf(session: Session): Queries {
  return { ...listsOf(session), ...glancesOf(session), ...searchesOf(session), ...stateReads(session) };
}
