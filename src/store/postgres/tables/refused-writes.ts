import pg from 'pg';
import { MARK } from '../../semantics/marks.ts';
import type { Database } from '../database.ts';
import { ALL_BUT_META } from '../migrations.ts';
import { MOVED } from '../reasons.ts';
import type { Session } from '../session.ts';

/** What the name of a connection of `hookkit move` begins with. */
export const MOVE = 'hookkit move ';

/** Only programs of the move that has closed the database may write to it. */
const bodyOf = (refusal: string) => `
  BEGIN
    IF current_setting('application_name') NOT LIKE ${pg.escapeLiteral(`${MOVE}%`)} THEN
      RAISE EXCEPTION USING ERRCODE = '${MOVED}', MESSAGE = ${pg.escapeLiteral(refusal)};
    END IF;
    RETURN NULL;
  END`;
const LETS_ALL = 'BEGIN RETURN NULL; END';

/** A name that is nothing where it is not there. */
const KNOWN = "SELECT to_regproc('hookkit.refuse_writes') IS NOT NULL AS known";

async function isKnown(session: Session): Promise<boolean> {
  const [row] = await session.rows<{ known: boolean }>(KNOWN);
  return row?.known === true;
}

const setFunction = (session: Session, body: string) =>
  session.script(
    `CREATE OR REPLACE FUNCTION hookkit.refuse_writes() RETURNS trigger LANGUAGE plpgsql AS ${pg.escapeLiteral(body)}`,
  );

/**
 * Makes the server refuse each statement of other programs that writes, or take them again. A program that was stopped, or cut off
 * from the server, has seen no mark: it goes on where it was as soon as it has a connection again. To take them again waits for
 * nobody who reads: the triggers stay, and refuse nothing, until a program starts.
 * @param refusal what they are told; undefined: they may write
 */
export async function refuseWrites(session: Session, refusal: string | undefined): Promise<void> {
  if (refusal === undefined) {
    if (await isKnown(session)) await setFunction(session, LETS_ALL);
    return;
  }
  // A role that may make nothing in the schema leaves it at the mark.
  const [role] = await session.rows<{ may: boolean }>(
    "SELECT has_schema_privilege('hookkit', 'CREATE') AS may",
  );
  if (!role?.may) return;
  await setFunction(session, bodyOf(refusal));
  // `meta` has the mark, and is written while a program starts.
  const triggers = ALL_BUT_META.map(
    (table) => `CREATE OR REPLACE TRIGGER refuse_writes BEFORE INSERT OR UPDATE OR DELETE ON ${table}
      FOR EACH STATEMENT EXECUTE FUNCTION hookkit.refuse_writes()`,
  );
  await session.script(triggers.join(';'));
}

/** Takes away triggers that refuse nothing any more. Where somebody reads the tables, a later start does. */
export async function dropIdleTriggers(database: Database): Promise<void> {
  if (!(await isKnown(database.statements))) return;
  const drop = async (session: Session) => {
    // A move that closes the database waits for the end of a transaction that has read this.
    const marked = await session.rows('SELECT FROM hookkit.meta WHERE name = $1', [MARK]);
    if (marked.length > 0) return;
    await session.script("SET LOCAL lock_timeout = '200ms'"); // acks wait behind whoever waits for this lock
    await session.script('DROP FUNCTION hookkit.refuse_writes() CASCADE');
  };
  await database.transaction(drop).catch(() => undefined);
}
