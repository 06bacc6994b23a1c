import { existsSync, statSync } from 'node:fs';
import { type Finding, findingsOf } from '../base/finding.ts';
import type { Config } from '../config.ts';

const OTHERS = 0o077;

/** Whether nobody else can read the key that seals the secrets. That it is the right one shows when they are opened. */
export function checkKeyFile(path: string, { SECRETS_KEY }: Pick<Config, 'SECRETS_KEY'>): Finding {
  const { ok, fail, skipped } = findingsOf('key');
  if (SECRETS_KEY) return ok('SECRETS_KEY is set');
  if (!existsSync(path)) return skipped(`there is no ${path} yet: it is made with the database`);
  if (process.platform === 'win32') return skipped('Windows does not tell modes');
  const mode = statSync(path).mode & 0o777;
  const octal = mode.toString(8).padStart(4, '0');
  if (mode & OTHERS) return fail(`others may read ${path} (mode ${octal}): chmod 600 ${path}`);
  return ok(`${path}, mode ${octal}`);
}
