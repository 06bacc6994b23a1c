import { join } from 'node:path';
import { MockProvider } from '../../src/mock/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';
import { ENGINE, testDatabase } from './engine.ts';
import { startProviderProxy } from './provider-proxy.ts';
import { type CliOptions, type CliRun, callCli } from './run-cli.ts';
import { type ServiceProcess, startProcess } from './service-process.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export const SITE = '9KboGBFu';

/** An installation as an operator has it: a directory, a database, a provider, commands, and servers in processes of their own. */
export type Installation = Awaited<ReturnType<typeof install>>;

/** @param engine of its database: that of the tests, or a file where the test is of files */
export async function install(more: Readonly<Record<string, string>> = {}, engine = ENGINE) {
  const directory = await temporaryDirectory();
  const database = await testDatabase(join(directory, 'data'), engine);
  const mock = await MockProvider.start({
    port: 0,
    rateLimit: 1_000_000,
    processingMs: 20,
    maxAttempts: 1,
  });
  const provider = await startProviderProxy(mock.url);
  const env: Record<string, string> = {
    ...database.env,
    PROVIDER_BASE_URL: provider.url,
    PROVIDER_API_SECRET: mock.apiSecret,
    ...more,
  };
  /** what every command printed, on either stream */
  const outputs: string[] = [];
  const servers: ServiceProcess[] = [];
  const cli = async (args: readonly string[], options: CliOptions = {}): Promise<CliRun> => {
    const run = await callCli(args, {
      ...options,
      env: { ...env, ...options.env },
    });
    outputs.push(run.stdout, run.stderr);
    return run;
  };
  const createWebhook = (url: string, name: string, more: object = {}) => {
    const metadata = { name, webhook_url: url, events: [...kindNames], site_ids: [SITE], ...more };
    const created = mock.createWebhook(metadata);
    provider.secrets.add(created.secret);
    return created;
  };
  return {
    directory,
    database,
    /** the database file, where it is one */
    path: join(directory, 'data', 'receiver.db'),
    env,
    mock,
    provider,
    outputs,
    cli,
    /** A store on the database, as another process has. */
    openStore: () => database.open(),
    /** Runs a command that must succeed and print JSON. */
    async json(args: readonly string[], options?: CliOptions) {
      const { code, stdout, stderr } = await cli([...args, '--json'], options);
      if (code !== 0) throw new Error(`hookkit ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout);
    },
    /** Starts a server, with other settings or as `start` does; it ends with the installation. */
    async serve(own: Readonly<Record<string, string>> = {}, start = startProcess) {
      const server = await start({ ...env, ...own });
      servers.push(server);
      return server;
    },
    /** Registers a webhook behind the installation's back: its secret is known to the test alone. */
    foreignWebhook: (url: string, name = 'foreign') => createWebhook(url, name),
    /** Registers a webhook as `webhooks create` does. @returns its id */
    async register(url: string, metadata = {}, at = database): Promise<string> {
      const { id, secret } = createWebhook(url, 'main', metadata);
      const store = await at.open();
      await store.secrets.add(id, secret);
      await store.close();
      return id;
    },
    /** @throws if a command or the log of a server has shown a secret, or a token that was sent */
    async dispose() {
      for (const server of servers) await server.kill();
      await mock.close();
      await provider.close();
      await database.remove();
      const requests = mock.deliveries().flatMap(({ attempts }) => attempts.map(({ request }) => request));
      const tokens = requests.map(({ headers }) => headers.Authorization?.split(' ')[1] ?? '-'.repeat(99));
      const told = [...outputs, ...servers.map(({ output }) => output())].join('\n');
      for (const secret of [mock.apiSecret, ...provider.secrets, ...tokens])
        if (told.includes(secret)) throw new Error(`a secret or token is shown: ${secret}`);
    },
  };
}

/** The URL to register for a service. */
export function hookOf({ url }: Pick<ServiceProcess, 'url'>): string {
  return `${url}/webhooks/media`;
}

/** The command that registers a webhook for all events of the site. */
export function createCommand(url: string): string[] {
  return ['webhooks', 'create', '--name', 'main', '--url', url, '--site', SITE, '--all-events'];
}
