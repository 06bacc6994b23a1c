import { Command, CommanderError, Option } from 'commander';
import { KitError, messageOf } from '../base/errors.ts';
import { kitVersion } from '../base/program.ts';
import { NobodyReads, outliveReaders, report, say } from './output.ts';

/** Exit codes of every command: 0 done, 1 failed, 2 wrong usage. */
const FAILED = 1;
const WRONG_USAGE = 2;
/** Commands that write a log to stdout. */
const SERVERS = ['serve', 'dev'];
/** Commands without --json. */
const WITHOUT_DATA = [...SERVERS, 'mock', 'demo', 'export', 'pause', 'resume', 'init', 'backup'];

/**
 * The module of a command is loaded only when the command is called. Without Express and the mock, the other commands start
 * in half the time and half the memory.
 */
const commands: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  serve: async () => (await import('./serve.ts')).addServe,
  demo: async () => (await import('./demo.ts')).addDemo,
  dev: async () => (await import('./dev.ts')).addDev,
  mock: async () => (await import('./mock.ts')).addMock,
  events: async () => (await import('./events/index.ts')).addEvents,
  webhooks: async () => (await import('./webhooks.ts')).addWebhooks,
  quarantine: async () => (await import('./quarantine.ts')).addQuarantine,
  handlers: async () => (await import('./handlers.ts')).addHandlers,
  state: async () => (await import('./state.ts')).addState,
  subscribers: async () => (await import('./subscribers.ts')).addSubscribers,
  erase: async () => (await import('./erase.ts')).addErase,
  reconcile: async () => (await import('./reconcile.ts')).addReconcile,
  audit: async () => (await import('./audit.ts')).addAudit,
  secrets: async () => (await import('./secrets.ts')).addSecrets,
  move: async () => (await import('./move.ts')).addMove,
  pause: async () => (await import('./pause.ts')).addPause,
  resume: async () => (await import('./pause.ts')).addResume,
  listen: async () => (await import('./listen.ts')).addListen,
  status: async () => (await import('./status.ts')).addStatus,
  backup: async () => (await import('./backup.ts')).addBackup,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  init: async () => (await import('./init.ts')).addInit,
};

/**
 * Runs a command.
 * @param argv the arguments behind `hookkit`
 * @returns the exit code; `serve`, `dev` and `mock` run on after they have started
 */
export async function run(argv: readonly string[]): Promise<number> {
  outliveReaders();
  const called = argv.find((arg) => Object.hasOwn(commands, arg)) ?? '';
  try {
    const program = await programFor(called);
    await program.parseAsync(argv, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof NobodyReads) return 0;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    await tell(messageOf(error), called);
    const isWrongUsage =
      error instanceof KitError && ['CONFIG_INVALID', 'INPUT_INVALID'].includes(error.code);
    return isWrongUsage ? WRONG_USAGE : FAILED;
  }
}

/** The program with the command that is called, or else with all. Commands inherit the settings that it has when they are added. */
async function programFor(called: string): Promise<Command> {
  const program = new Command('hookkit')
    .description('Receive, verify, record, handle and replay signed webhooks.')
    .version(kitVersion, '--version', 'print the version of the kit')
    .option('--env-file <file>', 'read settings from this file instead of .env')
    .option('--dev', 'work on the database of hookkit dev, DEV_DATABASE_URL')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .configureOutput({ writeOut: (text) => report(text.trimEnd()), writeErr: (text) => say(text.trimEnd()) })
    .addHelpText('afterAll', '\nThe folder docs of the kit says more.')
    .showHelpAfterError('(run the command with --help for more)')
    .hook('preAction', (_, command) => refuseEmptyValues(command));
  for (const load of commands[called] ? [commands[called]] : Object.values(commands)) (await load())(program);
  const all = program.commands.flatMap((one) => (one.commands.length > 0 ? one.commands : one));
  for (const one of all.filter((one) => !WITHOUT_DATA.includes(one.name())))
    one.addOption(new Option('--json', 'print the result as JSON').helpGroup('Options:'));
  return program;
}

/** Refuses an empty value, as of a variable of a shell that is not set. A description may be empty, and a kind that names none. */
function refuseEmptyValues(command: Command): void {
  const { description, kind, ...options } = command.opts();
  const given = Object.entries({ ...options, 'an argument': command.args });
  const empty = given.find(([, value]) => [value].flat().includes(''));
  if (empty) command.error(`error: the value of ${empty[0]} is empty`);
}

/** Tells why a command failed. A server that does not start says so in its log, for what reads it as JSON, and on a terminal to people. */
async function tell(error: string, called: string): Promise<void> {
  const isLogged = SERVERS.includes(called) && !process.stdout.isTTY;
  if (isLogged) {
    const [{ pino }, { logFormat }] = await Promise.all([import('pino'), import('../base/log.ts')]);
    pino(logFormat, { write: (text) => report(text.trimEnd()) }).fatal({ error }, 'did not start');
  }
  if (!isLogged || process.stderr.isTTY) say(`hookkit: ${error}`);
}
