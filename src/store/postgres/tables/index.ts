import type { Tables } from '../../driver.ts';
import { MARK } from '../../semantics/marks.ts';
import { type FrontierSession, NO_FRONTIER } from '../frontier.ts';
import type { Session } from '../session.ts';
import { historyTables } from './history.ts';
import { laneTables } from './lanes.ts';
import { appended, ledgerTables } from './ledger.ts';
import { quarantineTables } from './quarantine.ts';
import { refuseWrites } from './refused-writes.ts';
import { resetTables } from './resets.ts';
import { secretTables } from './secrets.ts';
import { stepAndStateTables } from './steps-and-state.ts';
import { workTables } from './work.ts';

/**
 * The tables of one transaction, or of statements that are each committed at once.
 * @param onTime told the time of the server, milliseconds since the Unix epoch, when leases were given or extended
 */
export function tablesOf(
  session: Session,
  frontier: FrontierSession = NO_FRONTIER,
  onTime: (there: number) => void = () => undefined,
): Tables {
  return {
    ...ledgerTables(session),
    ...workTables(session, frontier, onTime),
    ...laneTables(session, frontier, onTime),
    ...historyTables(session),
    ...stepAndStateTables(session),
    ...resetTables(session),
    ...quarantineTables(session),
    ...secretTables(session),
    ...probes(session),
  };
}

function probes(session: Session): Pick<Tables, 'ping' | 'newestTime' | 'meta' | 'setMeta' | 'setMark'> {
  return {
    async ping() {
      await appended(session, []);
      await session.rows(
        `INSERT INTO hookkit.meta VALUES ('ping', uuid_send(gen_random_uuid()))
         ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      );
    },
    async newestTime() {
      const [row] = await session.rows<{ newest: number | null }>(
        `SELECT greatest((SELECT received_at FROM hookkit.ledger ORDER BY event DESC LIMIT 1),
           (SELECT handled_at FROM hookkit.results WHERE handled_at IS NOT NULL AND has_body ORDER BY handled_at DESC LIMIT 1)) AS newest`,
      );
      return row?.newest ?? undefined;
    },
    async meta(name) {
      const [row] = await session.rows<{ value: Buffer }>('SELECT value FROM hookkit.meta WHERE name = $1', [
        name,
      ]);
      return row?.value;
    },
    async setMeta(name, value) {
      await session.rows(
        'INSERT INTO hookkit.meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
        [name, value],
      );
    },
    async setMark(mark, refusal) {
      await session.rows('DELETE FROM hookkit.meta WHERE name = $1', [MARK]);
      if (mark) await session.rows('INSERT INTO hookkit.meta VALUES ($1, $2)', [MARK, mark]);
      await refuseWrites(session, refusal);
    },
  };
}
