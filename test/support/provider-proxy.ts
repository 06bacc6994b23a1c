import { createServer } from 'node:http';
import { listeningOn } from '../mock/support/listening.ts';

/** A request to the provider. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** What the provider answers. */
export interface Answered {
  readonly status: number;
  readonly body: string;
}

/** What is done with a request: `forward` hands it on to the real one; undefined never answers. */
export type Interception = (asked: Asked, forward: () => Promise<Answered>) => Promise<Answered | undefined>;

/** Hands everything on. */
export const handOn: Interception = (_asked, forward) => forward();

/** What stands between a command and the mock provider: it sees everything, and can spoil it. */
export async function startProviderProxy(target: string) {
  const asked: Asked[] = [];
  /** every webhook secret that the provider gave away */
  const secrets = new Set<string>();
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const body = Buffer.concat(await request.toArray()).toString();
    const one: Asked = { method, path, body };
    asked.push(one);
    const forward = async (): Promise<Answered> => {
      const answer = await fetch(`${target}${path}`, {
        method,
        headers: { Authorization: headers.authorization ?? '', 'Content-Type': 'application/json' },
        ...(body !== '' && { body }),
      });
      const text = await answer.text();
      const secret = /"secret":"([^"]+)"/.exec(text)?.[1];
      if (secret) secrets.add(secret);
      return { status: answer.status, body: text };
    };
    const answer = await proxy.intercept(one, forward);
    if (!answer) return;
    response.writeHead(answer.status, { 'Content-Type': 'application/json' });
    response.end(answer.status === 204 ? undefined : answer.body);
  });
  const { url, close } = await listeningOn(server);
  const proxy = { url, asked, secrets, intercept: handOn, close };
  return proxy;
}
