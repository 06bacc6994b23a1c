import { Command, CommanderError } from 'commander';
import { KitError, messageOf } from '../errors.ts';
import { demoCommand } from './demo.ts';
import { devCommand } from './dev.ts';
import { mockCommand } from './mock.ts';
import { serveCommand } from './serve.ts';
import { webhooksCommand } from './webhooks.ts';

/** Exit codes of every command: 0 done, 1 failed, 2 wrong usage. */
const FAILED = 1;
const WRONG_USAGE = 2;

const program = new Command('hookkit')
  .description('Receive, verify, record, handle and replay signed webhooks.')
  .showHelpAfterError('(hookkit --help tells more)')
  .addCommand(serveCommand())
  .addCommand(demoCommand())
  .addCommand(devCommand())
  .addCommand(mockCommand())
  .addCommand(webhooksCommand());

function exitByThrowing(command: Command): void {
  command.exitOverride();
  for (const inner of command.commands) exitByThrowing(inner);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  process.stderr.write(`hookkit: ${messageOf(error)}\n`);
  const wrongUsage = error instanceof KitError && ['CONFIG_INVALID', 'INPUT_INVALID'].includes(error.code);
  return wrongUsage ? WRONG_USAGE : FAILED;
}

exitByThrowing(program);
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}
