import { KitError } from '../base/errors.ts';
import type { Finding } from '../base/finding.ts';
import { line, print, printJson } from './print.ts';

/**
 * Prints findings as they come, a line each, or all as JSON at the end.
 * @throws KitError CHECK_FAILED if a check failed
 */
export async function printFindings(found: AsyncIterable<Finding>, isJson: boolean): Promise<void> {
  const findings: Finding[] = [];
  for await (const finding of found) {
    findings.push(finding);
    if (!isJson) await print(lineOf(finding));
  }
  const failed = findings.filter(({ result }) => result === 'FAIL').length;
  if (isJson) await printJson({ ok: failed === 0, findings });
  if (failed > 0) throw new KitError('CHECK_FAILED', `${failed} of ${findings.length} checks failed`);
}

function lineOf({ result, check, detail }: Finding): string {
  return line(`${result.padEnd(7)}  ${check.padEnd(13)}  ${detail.replace(/\n\s*/g, ' ')}`);
}
