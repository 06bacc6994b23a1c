import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { endAfterSuite } from '../support/left-behind.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** how many records of TLS have the body */
  readonly pieces?: number;
}

export interface Told {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

/** nginx with a site of deploy/, whose ports and paths are changed to some of this machine. */
export class NginxHere {
  readonly #directory: string;
  readonly #port: number;
  #nginx: ChildProcess | undefined;

  private constructor(directory: string, port: number) {
    this.#directory = directory;
    this.#port = port;
  }

  /** @param receivers what the site names, and where that is here */
  static async prepare(shipped: string, receivers: readonly [string, string][]): Promise<NginxHere> {
    const directory = await temporaryDirectory();
    const port = await freePort();
    const pems = ['-keyout', join(directory, 'privkey.pem'), '-out', join(directory, 'fullchain.pem')];
    const certificate = 'req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=your.host'.split(' ');
    execFileSync('openssl', [...certificate, ...pems], { stdio: 'ignore' });
    const changes: [string, string][] = [
      ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
      ['  listen [::]:443 ssl;\n', ''],
      ['/etc/ssl/receiver/', `${directory}/`],
      ...receivers,
    ];
    const site = changes.reduce((conf, [there, here]) => {
      expect(conf).toContain(there);
      return conf.replaceAll(there, here);
    }, shipped);
    mkdirSync(join(directory, 'conf.d'));
    writeFileSync(join(directory, 'conf.d', 'site.conf'), site);
    const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${directory}/${name};`,
    );
    const main = `daemon off; worker_processes 1; pid ${directory}/pid; error_log ${directory}/error.log; events {}
      http { access_log off; ${places.join(' ')} include ${directory}/conf.d/*.conf; }`;
    writeFileSync(join(directory, 'nginx.conf'), main);
    return new NginxHere(directory, port);
  }

  #run(...more: readonly string[]): ChildProcess {
    const directory = this.#directory;
    const args = ['-p', directory, '-e', join(directory, 'error.log'), '-c', join(directory, 'nginx.conf')];
    return spawn('nginx', [...args, ...more]);
  }

  /** Has nginx test the site. */
  async check(): Promise<{ readonly said: string; readonly code: number }> {
    const checking = this.#run('-t');
    const said = checking.stderr ? text(checking.stderr) : '';
    const [code] = await once(checking, 'exit');
    return { said: await said, code };
  }

  async start(): Promise<void> {
    const nginx = this.#run();
    this.#nginx = nginx;
    endAfterSuite(() => nginx.kill('SIGKILL'));
    const isUp = () => this.ask('/healthz').then(({ status }) => status === 200);
    await eventually('nginx listens', () => isUp().catch(() => false));
  }

  async stop(): Promise<void> {
    if (this.#nginx?.exitCode !== null) return;
    this.#nginx.kill('SIGTERM');
    await once(this.#nginx, 'exit');
  }

  /** Sends a request as a client of the internet does. */
  ask(path: string, { method = 'GET', headers = {}, body = '', pieces = 1 }: Sent = {}): Promise<Told> {
    const ca = readFileSync(join(this.#directory, 'fullchain.pem'));
    const to = { host: '127.0.0.1', port: this.#port, path, agent: false, servername: 'your.host', ca };
    return new Promise((resolve, reject) => {
      const sent = request({ ...to, method, headers }, async (answer) => {
        const { statusCode: status = 0, headers: said } = answer;
        resolve({ status, retryAfter: said['retry-after'], body: await text(answer) });
      });
      sent.on('error', reject);
      sent.setNoDelay();
      sent.setHeader('Content-Length', Buffer.byteLength(body));
      const size = Math.ceil(body.length / pieces);
      const next = (from: number): void => {
        if (from >= body.length) return void sent.end();
        sent.write(body.slice(from, from + size), () => setImmediate(next, from + size));
      };
      next(0);
    });
  }
}
