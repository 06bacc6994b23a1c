import { Command } from 'commander';
import { KitError } from '../base/errors.ts';
import type { Finding } from '../base/finding.ts';
import { examine } from '../examination.ts';
import { line, print, printJson } from './print.ts';

interface Flags {
  readonly offline?: true;
  readonly url?: readonly string[];
  readonly json?: true;
}

const HELP = `
Each line begins with ok, warn, FAIL or skipped. After a FAIL the exit code is 1. The command changes nothing. Run it as the
user that the server runs as.

Examples:
  npx hookkit doctor
  npx hookkit doctor --offline --json
  npx hookkit doctor --url https://your.host/webhooks/media`;

/** `hookkit doctor`: checks an installation. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Check this installation: Node, configuration, database, disk, key, secrets, clock, provider, the URL.',
    )
    .option('--offline', 'skip the checks that need the network')
    .option('--url <url...>', 'check that these URLs reach the receiver too, beside the registered ones')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', HELP)
    .action(doctor);
}

async function doctor({ offline, url: urls = [], json }: Flags): Promise<void> {
  const findings: Finding[] = [];
  for await (const finding of examine({ isOffline: offline === true, urls })) {
    findings.push(finding);
    if (!json) await print(lineOf(finding));
  }
  const failed = findings.filter(({ result }) => result === 'FAIL').length;
  if (json) await printJson({ ok: failed === 0, findings });
  if (failed > 0) throw new KitError('CHECK_FAILED', `${failed} of ${findings.length} checks failed`);
}

function lineOf({ result, check, detail }: Finding): string {
  return line(`${result.padEnd(7)}  ${check.padEnd(13)}  ${detail.replace(/\n\s*/g, ' ')}`);
}
