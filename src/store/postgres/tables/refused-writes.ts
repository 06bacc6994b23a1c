import pg from 'pg';
import { TABLES } from '../migrations.ts';
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

/**
 * Makes the server refuse each statement of other programs that writes, or take them again. A program that was stopped, or cut off
 * from the server, has seen no mark: it goes on where it was as soon as it has a connection again.
 * @param refusal what they are told; undefined: they may write
 */
export async function refuseWrites(session: Session, refusal: string | undefined): Promise<void> {
  if (refusal === undefined) return session.script('DROP FUNCTION IF EXISTS hookkit.refuse_writes() CASCADE');
  await session.script(
    `CREATE OR REPLACE FUNCTION hookkit.refuse_writes() RETURNS trigger LANGUAGE plpgsql AS ${pg.escapeLiteral(bodyOf(refusal))}`,
  );
  for (const table of TABLES) {
    if (table === 'meta') continue; // has the mark, and is written while a program starts
    await session.script(
      `CREATE OR REPLACE TRIGGER refuse_writes BEFORE INSERT OR UPDATE OR DELETE ON hookkit.${table}
       FOR EACH STATEMENT EXECUTE FUNCTION hookkit.refuse_writes()`,
    );
  }
}
