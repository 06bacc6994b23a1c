import type { Command } from 'commander';
import { hostOf, isLoopback } from '../base/request-origin.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { controlCatalogue, type Delivery, defaultTokens, MockProvider, mockDefaults } from '../mock/index.ts';
import { closeAtSignal } from '../stopping.ts';
import { configOf, valid, wholeNumber } from './options.ts';
import { line, report, say } from './output.ts';

type Flags = { port?: number; host: string; seed?: number; virtualClock?: true } & Partial<
  Record<'name' | 'receiverHost', readonly string[]>
>;

/** How long open requests may take to end at a stop. */
const CLOSING_MS = 5000;

export function addMock(program: Command): void {
  program
    .command('mock')
    .description('Mock the provider: both APIs, simulated sites, signed deliveries, faults and a clock.')
    .option('--port <port>', 'the port; 0 takes any free one (default: MOCK_PORT)', wholeNumber(0, 65_535))
    .option('--host <host>', 'the address to listen on; the mock asks for no password', mockDefaults.host)
    .option('--name <host...>', 'more names that the mock answers to, HOST or HOST:PORT', hostNames)
    .option('--receiver-host <host...>', 'also take http URLs of receivers on these hosts', hostNames)
    .option('--seed <number>', 'make ids, secrets and the run the same again', wholeNumber(0, 2 ** 32 - 1))
    .option('--virtual-clock', 'use a clock that stands still until POST /_mock/clock advances it')
    .action(run);
}

async function run(flags: Flags, command: Command): Promise<void> {
  const config = () => configOf(command);
  const { virtualClock, port = config().MOCK_PORT, ...options } = flags;
  const { name: names = [], receiverHost: receiverHosts = [] } = flags;
  const clock = virtualClock && { clock: new VirtualClock() };
  const onAttempt = (delivery: Delivery) => report(summaryOf(delivery));
  const mock = await MockProvider.start({ ...options, port, names, receiverHosts, ...clock, onAttempt });
  closeAtSignal({ delay: CLOSING_MS, close: () => mock.close() });
  report(introduction(mock.url));
  if (!isLoopback(options.host))
    say(`WARNING: ${options.host} is not loopback: everybody who reaches this address controls the mock`);
}

/** Tells a user how to work with the mock: its addresses, credentials and control routes. */
function introduction(url: string): string {
  const routes = controlCatalogue.map(
    ([method, path, what]) => `\n  ${method.padEnd(6)} ${path.padEnd(36)} ${what}`,
  );
  return `This is a MOCK provider, not the real one. It listens on ${url}
${url}/v2/webhooks takes the API secret ${mockDefaults.apiSecret}
${url}/api/v1/scheduled_statuses takes the tokens ${defaultTokens.map(({ token }) => token).join(', ')}
Control it with JSON bodies:${routes.join('')}`;
}

/** A line for an attempt, without its token. */
function summaryOf({ id, webhook_id, notification, faults, state, attempts }: Delivery): string {
  const attempt = attempts.at(-1);
  const result = attempt?.answer?.status ?? attempt?.error ?? '';
  const marks = faults.length > 0 ? ` [${faults.join(', ')}]` : '';
  const event = `${attempt?.started_at} #${id} ${notification.event} to ${webhook_id}`;
  return line(`${event}${marks}: ${result}, ${state}`);
}

function hostNames(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, valid(hostOf(text) && text, 'a host name or address, with or without a port')];
}
