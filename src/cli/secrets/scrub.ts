import { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { inMib } from '../../base/size-text.ts';
import { loadConfig } from '../../config.ts';
import type { Scrubbed } from '../../store/event-store.ts';
import { withDatabase } from '../../store/with-store.ts';
import { print } from '../print.ts';

const HELP = `
secrets rekey does this too, except for a large database from an earlier version. Such a database is rewritten once. That
takes some seconds a GB, up to twice its size of disk beside it, and its size in the directory for temporary files. Nothing
can be recorded meanwhile, so stop the server first.

Examples:
  npx hookkit secrets scrub`;

export function scrubCommand(): Command {
  return new Command('scrub')
    .description(
      'Scrub the files on disk: remove deleted and replaced content, such as secrets that an old key opens.',
    )
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
      await print(json ? '{"scrubbed":true}' : 'the files hold no deleted or replaced content any more');
    },
    { threads: true },
  );
}

/** Why old content is still in the files, and what to do; undefined if none is left. */
export function whatIsLeft({ toRewrite, isLogInUse, backups }: Scrubbed): string | undefined {
  if (toRewrite > 0) {
    return `the database (${inMib(toRewrite)}) was made by an earlier version and may still hold replaced content: stop the server when it suits you`;
  }
  if (isLogInUse) {
    return 'the log (the file that ends in -wal) still holds replaced content, because another process reads from it: wait for its end, or restart the server';
  }
  if (backups.length > 0) {
    const advice =
      backups.length === 1
        ? 'is the database of an earlier version, with all that it held: delete it'
        : 'are databases of an earlier version, with all that they held: delete them';
    return `${backups.join(', ')} ${advice}, once npx hookkit doctor finds nothing wrong`;
  }
  return undefined;
}
