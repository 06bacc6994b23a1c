import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import Database from 'better-sqlite3';
import { eventually } from '../../support/eventually.ts';
import { type Installation, install, SITE } from '../../support/installation.ts';
import { commandsOf } from '../../support/manual.ts';
import { present } from '../../support/only.ts';
import { type Operator, settledOperator } from '../../support/operator.ts';

/** An installation and its operator, for each test. */
export interface Post {
  readonly installation: Installation;
  readonly operator: Operator;
  /** The webhook_url of the operator's server. */
  readonly hook: string;
  /** `count` things happen at the provider, and are sent. */
  happen(count: number): Promise<void>;
  /** Registers the documentation's 2yW4KmiG, and has its secret stored. @returns its id here */
  register(): Promise<string>;
}

export function eachPost(): () => Post {
  let post: Post | undefined;
  beforeEach(async () => {
    const installation = await install();
    const operator = await settledOperator(installation);
    post = {
      installation,
      operator,
      hook: `${operator.url}/webhooks/media`,
      async happen(count) {
        for (let i = 0; i < count; i++) installation.mock.createChannel({ site_id: SITE });
        await installation.mock.settled();
      },
      async register() {
        const [create = ''] = operating('Register a webhook');
        const { stdout } = await operator.type(create);
        const id = present(/webhook (\w{8}) is registered/.exec(stdout)?.[1]);
        operator.here.set('2yW4KmiG', id);
        return id;
      },
    };
  });
  afterEach(() => post?.installation.dispose());
  return () => present(post);
}

/** The commands of a section of the page. */
export function operating(section: string): string[] {
  return commandsOf('operating.md', section);
}

/** How many events a clone's database has, all or of a status. */
export function countIn(directory: string, status = '%'): number {
  const db = new Database(join(directory, 'data', 'receiver.db'), { readonly: true });
  try {
    const sql = 'SELECT count(*) FROM events WHERE status LIKE ?';
    return db.prepare<[string], number>(sql).pluck().get(status) ?? 0;
  } finally {
    db.close();
  }
}

/** Waits until a clone has handled so many events. */
export function handled(directory: string, count: number): Promise<void> {
  return eventually(`${count} events are handled`, () => countIn(directory, 'handled') === count);
}

/** Runs a list's command until it shows so many rows: the quarantine keeps a notification after it has been answered. */
export async function listed(
  { operator }: Pick<Post, 'operator'>,
  command: string,
  count: number,
): Promise<string[]> {
  let rows: string[] = [];
  await eventually(`${command} shows ${count} rows`, async () => {
    rows = rowsOf((await operator.type(command)).stdout);
    return rows.length === count;
  });
  return rows;
}

/** What `webhooks list` or `quarantine list` shows, line by line, without the head. */
export function rowsOf(stdout: string): string[] {
  return stdout.trimEnd().split('\n').slice(2);
}
