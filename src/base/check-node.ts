import { type Finding, findingsOf } from './finding.ts';

const OLDEST = 24;

/** @param version such as 24.21.0 */
export function checkNode(version: string): Finding {
  const { ok, warn, fail } = findingsOf('node');
  const major = Number(version.split('.')[0]);
  if (major < OLDEST) return fail(`Node.js ${version}: ${OLDEST} or newer is needed`);
  if (major % 2 === 1)
    return warn(`Node.js ${version} is no LTS version and soon gets no more fixes: use an even version`);
  return ok(`Node.js ${version}`);
}
