import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { handlers as samples } from '../../src/demo/handlers.ts';
import { type CreatedWebhook, MockProvider } from '../../src/mock/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { OWN_THREADS } from './own-threads.ts';
import { type ProviderProxy, startProviderProxy } from './provider-proxy.ts';
import { type CliOptions, type CliRun, runCli } from './run-cli.ts';
import { type RunningService, runService } from './running-service.ts';
import { type Served, serve } from './served.ts';
import { type ServiceProcess, startProcess } from './service-process.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export const SITE = '9KboGBFu';

/** An installation as an operator has it: a directory, a provider, commands, and servers in processes of their own. */
export interface Installation {
  readonly directory: string;
  /** the database file */
  readonly path: string;
  readonly env: Record<string, string>;
  readonly mock: MockProvider;
  readonly provider: ProviderProxy;
  /** what every command and server printed, on either stream */
  readonly outputs: string[];
  cli(args: readonly string[], options?: CliOptions): Promise<CliRun>;
  /** A store on the database, as another process has. */
  openStore(): Promise<EventStore>;
  /** Makes the database, as the first start of a server does. */
  makeDatabase(): Promise<void>;
  /** Runs a command that must succeed and print JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  json(args: readonly string[], options?: CliOptions): Promise<any>;
  /** Serves where it is beside the point that a server has a process of its own. */
  serve(env?: Readonly<Record<string, string>>): Promise<Served>;
  serveApart(env?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
  /** The same in this process: where it is beside the point that the server has one of its own. */
  serveHere(env?: Readonly<Record<string, string>>): Promise<RunningService>;
  /** Ends a server with the installation. */
  keep(server: Served): Served;
  /** Registers a webhook behind the installation's back: its secret is known to the test alone. */
  foreignWebhook(url: string, name?: string): CreatedWebhook;
  dispose(): Promise<void>;
}

export async function install(more: Readonly<Record<string, string>> = {}): Promise<Installation> {
  const directory = await temporaryDirectory();
  const path = join(directory, 'data', 'receiver.db');
  const mock = await MockProvider.start({
    port: 0,
    rateLimit: 1_000_000,
    processingMs: 20,
    maxAttempts: 1,
    keepDeliveries: 1_000_000,
  });
  const provider = await startProviderProxy(mock.url);
  const env = {
    DATABASE_URL: `sqlite:${path}`,
    PROVIDER_BASE_URL: provider.url,
    PROVIDER_API_SECRET: mock.apiSecret,
    ...more,
  };
  const outputs: string[] = [];
  const services: ServiceProcess[] = [];
  const kept: Served[] = [];
  const keep = (server: Served) => {
    kept.push(server);
    return server;
  };
  const servicesHere: RunningService[] = [];
  const noted = async (running: Promise<CliRun>) => {
    const run = await running;
    outputs.push(run.stdout, run.stderr);
    return run;
  };
  const cli = (args: readonly string[], options: CliOptions = {}) =>
    noted(runCli(args, { ...options, env: { ...env, ...options.env } }));
  const openHere = () => {
    const { DATABASE_URL: url, SECRETS_KEY: secretsKey } = parseConfig(env);
    return openStore({ url, secretsKey, clock: systemClock, threads: OWN_THREADS });
  };
  return {
    directory,
    path,
    env,
    mock,
    provider,
    outputs,
    cli,
    openStore: openHere,
    async makeDatabase() {
      await (await openHere()).close();
    },
    async json(args, options) {
      const { code, stdout, stderr } = await cli([...args, '--json'], options);
      if (code !== 0) throw new Error(`hookkit ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout);
    },
    serve: async (own = {}) => keep(await serve({ env: { ...env, ...own } })),
    async serveApart(own = {}) {
      const service = await startProcess({ ...env, ...own });
      services.push(service);
      return service;
    },
    async serveHere(own = {}) {
      const service = await runService(
        samples,
        { WEBHOOK_SECRET: '', ...env, ...own },
        { threads: OWN_THREADS },
      );
      servicesHere.push(service);
      return service;
    },
    keep,
    foreignWebhook: (url, name = 'foreign') =>
      mock.createWebhook({ name, webhook_url: url, events: [...kindNames], site_ids: [SITE] }),
    async dispose() {
      for (const { child, exited, output } of services) {
        child.kill('SIGKILL');
        await exited;
        outputs.push(output());
      }
      for (const server of kept) {
        await server.discard();
        outputs.push(server.output());
      }
      for (const service of servicesHere) await service.dispose();
      await mock.close();
      await provider.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The URL to register for a service. */
export function hookOf({ url }: Pick<ServiceProcess, 'url'>): string {
  return `${url}/webhooks/media`;
}

/** The command that registers a webhook for all events of a site. */
export function createCommand(url: string, site = SITE): string[] {
  return ['webhooks', 'create', '--name', 'main', '--url', url, '--site', site, '--all-events'];
}
