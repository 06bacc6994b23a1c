import { Command, CommanderError } from 'commander';
import { KitError, messageOf } from '../base/errors.ts';
import { kitVersion } from '../base/program.ts';
import { type Settings, useEnvFile, withSettings } from '../config.ts';
import { isEventId } from '../store/event-id.ts';
import { NobodyReads, outliveReaders, report, say } from './print.ts';
import { makeStrict } from './strict.ts';
import { onTerminal, ownsProcess, setExitCode, type Terminal } from './terminal.ts';

/** Exit codes of every command: 0 done, 1 failed, 2 wrong usage. */
const FAILED = 1;
const WRONG_USAGE = 2;

/**
 * The module of a command is loaded only when the command is called. Without Express and the mock, the other commands start
 * in half the time and half the memory.
 */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.ts')).serveCommand(),
  demo: async () => (await import('./demo.ts')).demoCommand(),
  dev: async () => (await import('./dev.ts')).devCommand(),
  mock: async () => (await import('./mock.ts')).mockCommand(),
  events: async () => (await import('./events/index.ts')).eventsCommand(),
  webhooks: async () => (await import('./webhooks.ts')).webhooksCommand(),
  quarantine: async () => (await import('./quarantine.ts')).quarantineCommand(),
  handlers: async () => (await import('./handlers.ts')).handlersCommand(),
  state: async () => (await import('./state.ts')).stateCommand(),
  secrets: async () => (await import('./secrets.ts')).secretsCommand(),
  move: async () => (await import('./move.ts')).moveCommand(),
  doctor: async () => (await import('./doctor.ts')).doctorCommand(),
  init: async () => (await import('./init.ts')).initCommand(),
};

async function programOf(name: string | undefined): Promise<Command> {
  const program = new Command('hookkit')
    .description('Receive, verify, record, handle and replay signed webhooks.')
    .version(kitVersion(), '--version', 'print the version of the kit')
    .option(
      '--env-file <file>',
      'read settings from this file instead of .env; the environment takes precedence',
    )
    .hook('preAction', (hookkit) => {
      const { envFile }: { envFile?: string } = hookkit.opts();
      if (envFile !== undefined) useEnvFile(envFile);
    })
    .showHelpAfterError('(run hookkit --help for more)');
  const called = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  for (const load of called ? [called] : Object.values(commands)) program.addCommand(await load());
  return program;
}

/** The command that a command line calls: its first argument that is neither an option nor the file of --env-file. */
function commandIn(args: readonly string[]): string | undefined {
  return args.find((arg, index) => !arg.startsWith('-') && args[index - 1] !== '--env-file');
}

/** Makes a command throw where commander would exit the process, print through print.ts, and be strict. */
function takeOver(command: Command): void {
  command.exitOverride();
  const withoutEnd = (text: string) => text.replace(/\n$/, '');
  command.configureOutput({
    writeOut: (text) => report(withoutEnd(text)),
    writeErr: (text) => say(withoutEnd(text)),
  });
  makeStrict(command);
  if (command.commands.length === 0) takeEventIds(command);
  for (const inner of command.commands) takeOver(inner);
}

/** The id of an event before 1970 begins with a minus: commander would take it for an option that the command does not have. */
function takeEventIds(command: Command): void {
  const parse = command.parseOptions.bind(command);
  command.parseOptions = (args) => {
    const { operands, unknown } = parse(args);
    const options = unknown.filter((arg) => arg.startsWith('-') && !isEventId(arg));
    if (options.length > 0) return { operands, unknown: options };
    return { operands: operands.concat(unknown), unknown: [] };
  };
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  say(`hookkit: ${messageOf(error)}`);
  const wrongUsage = error instanceof KitError && ['CONFIG_INVALID', 'INPUT_INVALID'].includes(error.code);
  return wrongUsage ? WRONG_USAGE : FAILED;
}

/** The environment of a command. */
export interface CommandIo extends Terminal, Settings {}

/**
 * Runs a command. Several may run in one process, one after another or side by side: each has its own streams, environment
 * and directory. `serve`, `dev`, `mock` and `demo` without --once need a process to themselves.
 * @param argv the arguments behind `hookkit`
 * @returns the exit code; `serve`, `dev` and `mock` run on after they have started
 */
export function run(argv: readonly string[], io: CommandIo): Promise<number> {
  return withSettings(io, () => onTerminal(io, () => command(argv)));
}

async function command(argv: readonly string[]): Promise<void> {
  outliveReaders();
  const program = await programOf(commandIn(argv));
  takeOver(program);
  if (ownsProcess()) process.once('beforeExit', tellThatStuck);
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof NobodyReads)) setExitCode(exitCodeOf(error));
  } finally {
    process.off('beforeExit', tellThatStuck);
  }
}

/** Node would name a line of ours, and exit with 13. */
function tellThatStuck(): void {
  say(
    'hookkit: the command waits for a promise that nothing settles any more: look for an await that never ends where your handlers load, or where their app starts or closes',
  );
  process.exitCode = FAILED;
}
