import { Command } from 'commander';
import { sqlitePathOf } from '../../base/database-url.ts';
import { messageOf } from '../../base/errors.ts';
import { type Config, loadConfig } from '../../config.ts';
import { pathFrom } from '../../dev/show-runs.ts';
import { type LastHour, lastHourOf, MOST_EVENTS, NONE } from '../../dispatch/last-hour.ts';
import { loadDefinition } from '../../dispatch/load-handlers.ts';
import { locateHandlers } from '../../dispatch/locate-handlers.ts';
import { KINDS, kindNames } from '../../notification/kinds.ts';
import { assertPresentVersion } from '../../store/check-files.ts';
import { hasDatabase, withStore } from '../../store/with-store.ts';
import { line, printJson, say, write } from '../print.ts';
import { table } from '../table.ts';
import { endProcess, terminal } from '../terminal.ts';

const EXAMPLES = `
The figures are those of the events that the receiver got within the last hour, from the database of DATABASE_URL: how many are
handled, skipped and dead, and how many attempts failed. Without a database they are dashes. "unknown" is every other kind.

Examples:
  npx hookkit handlers list
  npx hookkit handlers --json`;

export function listCommand(): Command {
  return new Command('list')
    .description('List each kind with its handler, and how it fared in the last hour (the default).')
    .option('--json', 'print a JSON array, which also has the ids in each kind')
    .addHelpText('after', EXAMPLES)
    .action(list);
}

async function list({ json }: { json?: true }): Promise<void> {
  const config = loadConfig();
  endProcess(); // whatever the handlers' files set off while they load
  const { handlers } = await loadDefinition(config);
  const places = await locateHandlers(handlers);
  const hour = await figuresOf(config);
  const all = [...kindNames, 'unknown' as const].map((kind) => {
    const place = places.get(kind);
    return {
      kind,
      ids: kind === 'unknown' ? [] : (KINDS[kind].ids as readonly string[]),
      handler: handlers[kind] !== undefined,
      file: place?.file ?? null,
      line: place?.line ?? null,
      column: place?.column ?? null,
      last_hour: hour ? (hour.get(kind) ?? NONE) : null,
    };
  });
  if (json) return printJson(all);
  const rows = all.map(({ kind, handler, file, line: number, last_hour: figures }) => {
    const where = file === null ? 'yes' : `${pathFrom(terminal().cwd, file)}:${number}`;
    const { handled, skipped, failed_attempts: failed, dead } = figures ?? {};
    const counts = [handled, skipped, failed, dead].map((count) => String(count ?? '-'));
    return [kind, handler ? where : 'none: ends as skipped', ...counts];
  });
  await write(table(['kind', 'handler', 'handled', 'skipped', 'failed', 'dead'], rows));
}

/** By kind, all that are not in the list together as `unknown`; undefined without a database that can be read. */
async function figuresOf(config: Config): Promise<ReadonlyMap<string, LastHour> | undefined> {
  try {
    if (!hasDatabase(config)) {
      const { DATABASE_URL: url, DEV_DATABASE_URL: dev } = config;
      const isDev = hasDatabase({ ...config, DATABASE_URL: dev });
      say(
        `without figures: there is no ${line(url)}${isDev ? `; for those of npm run dev, set DATABASE_URL=${line(dev)}` : ''}`,
      );
      return undefined;
    }
    const path = sqlitePathOf(config.DATABASE_URL);
    if (path !== undefined) assertPresentVersion(path);
    const { kinds, isCut } = await withStore(config, lastHourOf, { mustExist: true });
    if (isCut) say(`the figures are those of the newest ${MOST_EVENTS} events of the last hour`);
    return kinds;
  } catch (error) {
    say(`without the figures of the last hour: ${line(messageOf(error))}`);
    return undefined;
  }
}
