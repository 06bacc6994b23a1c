import { Command, InvalidArgumentError } from 'commander';
import { hostOf, isLoopback } from '../base/request-origin.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { loadConfig } from '../config.ts';
import { controlCatalogue, type Delivery, defaultTokens, MockProvider, mockDefaults } from '../mock/index.ts';
import { closeAtSignal } from '../stopping.ts';
import { wholeNumberTo } from './option-values.ts';
import { line, report, say } from './print.ts';

interface Flags {
  readonly port?: number;
  readonly host: string;
  readonly name?: readonly string[];
  readonly seed?: number;
  readonly virtualClock?: true;
}

/** How long open requests may take to end at a stop. */
const CLOSING_MS = 5000;

/** `hookkit mock`: a mock provider in a process of its own, on `--port` or else MOCK_PORT. */
export function mockCommand(): Command {
  return new Command('mock')
    .description(
      'Mock the provider: both APIs, simulated sites, signed deliveries, faults and a clock of its own.',
    )
    .option(
      '--port <port>',
      'the port to listen on; 0 takes any free port (default: MOCK_PORT)',
      wholeNumberTo(65_535),
    )
    .option('--host <host>', 'the address to listen on; the mock asks for no password', mockDefaults.host)
    .option(
      '--name <host...>',
      'more host names that the mock answers to, HOST or HOST:PORT: behind a proxy, in a container',
      hostNames,
    )
    .option(
      '--seed <number>',
      'make ids and secrets predictable: the same seed gives the same run',
      wholeNumberTo(2 ** 32 - 1),
    )
    .option('--virtual-clock', 'use a clock that stands still until POST /_mock/clock advances it')
    .action(run);
}

async function run({
  virtualClock,
  port = loadConfig().MOCK_PORT,
  name: names = [],
  ...options
}: Flags): Promise<void> {
  const mock = await MockProvider.start({
    ...options,
    port,
    names,
    ...(virtualClock && { clock: new VirtualClock() }),
    onAttempt: (delivery) => report(summaryOf(delivery)),
  });
  closeAtSignal({ delay: CLOSING_MS, close: () => mock.close() });
  report(introduction({ url: mock.url, seed: options.seed, isVirtual: virtualClock === true }));
  if (isLoopback(options.host)) return;
  say(`WARNING: ${options.host} is not loopback: everybody who reaches this address controls the mock`);
}

/** A mock that has started. */
interface Introduction {
  readonly url: string;
  readonly seed: number | undefined;
  readonly isVirtual: boolean;
}

/** Tells a user how to work with the mock: its addresses, credentials and control routes. */
function introduction({ url, seed, isVirtual }: Introduction): string {
  const clock = isVirtual ? 'virtual: it stands still until POST /_mock/clock' : "the machine's";
  const luck =
    seed === undefined
      ? 'none: ids and secrets are random'
      : `${seed}: everybody who knows the seed knows the secrets`;
  const tokens = defaultTokens.map(({ token }) => token).join(', ');
  const routes = controlCatalogue.map(
    ([method, path, what]) => `  ${method.padEnd(6)} ${path.padEnd(36)} ${what}`,
  );
  return `This is a MOCK provider, not the real one. It listens on ${url}

Clock: ${clock}. Seed: ${luck}. State: in memory only.

Webhooks API: ${url}/v2/webhooks
  Authorization: ${mockDefaults.apiSecret}
Scheduled statuses API: ${url}/api/v1/scheduled_statuses
  Authorization: Bearer TOKEN, where TOKEN is one of
  ${tokens}

Control, with JSON bodies:
${routes.join('\n')}`;
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
  if (hostOf(text)) return [...before, text];
  throw new InvalidArgumentError('It must be a host name or address, with or without a port.');
}
