import { sqlitePathOf } from '../../base/database-url.ts';
import type { Config } from '../../config.ts';
import { readStandings, type Standings, standingsFrom } from '../../rotation/webhook-view.ts';
import { hasDatabase, withDatabase } from '../../store/with-store.ts';
import { line, say } from '../print.ts';

/**
 * The state of the secrets that are stored. Where there is no database there are none: it says so, and makes no database.
 * @throws KitError STORE_UNUSABLE
 */
export async function standingsOf(config: Config): Promise<Standings> {
  if (hasDatabase(config)) return withDatabase(config, (store) => readStandings(store, config));
  say(
    `no secret is stored here, as there is no database at ${line(sqlitePathOf(config.DATABASE_URL) ?? '')}: if there should be one, ` +
      'run this where the server runs, or set DATABASE_URL',
  );
  return standingsFrom(config);
}
