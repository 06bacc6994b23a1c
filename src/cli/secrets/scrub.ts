import { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import type { Scrubbed } from '../../store/event-store.ts';
import { withDatabase } from '../events/open-database.ts';
import { print } from '../print.ts';

const HELP = `
secrets rekey does this by itself, but for a large database that was made by a former version. Such a database is written
again as a whole, once: this takes up to twice its size of disk beside it and once in the directory for temporary files,
some seconds a GB, and nothing can be recorded meanwhile, so stop the server first.

Examples:
  npx hookkit secrets scrub`;

export function scrubCommand(): Command {
  return new Command('scrub')
    .description('Remove from the files on disk what was deleted or replaced, such as what an old key opens.')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action(scrub);
}

async function scrub({ json }: { readonly json?: true }): Promise<void> {
  await withDatabase(
    loadConfig(),
    async (store) => {
      const left = whatIsLeft(await store.scrub(Number.POSITIVE_INFINITY));
      if (left !== undefined) throw new KitError('STORE_UNAVAILABLE', `${left}: then run this again`);
      await print(json ? '{"scrubbed":true}' : 'nothing that was deleted or replaced is left in the files');
    },
    { threads: true },
  );
}

/** What keeps former content in the files, and what to do about it; undefined where nothing does. */
export function whatIsLeft({ toRewrite, isLogInUse }: Scrubbed): string | undefined {
  if (toRewrite > 0) {
    const size = `${Math.ceil(toRewrite / 1024 ** 2)} MiB`;
    return `the database (${size}) was made by a former version and may still hold what was replaced: stop the server when it suits you`;
  }
  if (isLogInUse) {
    return 'the log (the file that ends in -wal) still holds what was replaced, as another process has been reading from it all the time: let that end, or restart the server';
  }
  return undefined;
}
