import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';

/** Handlers that are done at once, so that what is measured is the service. */
const HANDLERS = join(import.meta.dirname, 'handlers/quick.ts');

/** Starts a service for loads on a database. */
export function startLoaded(env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return startProcess({ WEBHOOK_SECRET: SECRET, HANDLERS, ...env });
}

/** What a service holds in memory, in MiB. */
export function rssOf({ child }: ServiceProcess): number {
  return Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', `${child.pid}`])) / 1024);
}

let sent = 0;

/** Sends notifications, each of them new. @returns how often each status was answered, and the ids of what was acknowledged */
export async function genuineLoad(
  url: string,
  load: { readonly requests: number; readonly connections: number },
) {
  const statuses: Record<string, number> = {};
  const ids: string[] = [];
  const client = async () => {
    for (let left = load.requests / load.connections; left > 0; left--) {
      const answer = await deliver(url, bodyOf(sent++));
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      const { id } = (await answer.json()) as { readonly id?: string };
      if (id !== undefined) ids.push(id);
    }
  };
  await Promise.all(Array.from({ length: load.connections }, client));
  return { statuses, ids };
}
