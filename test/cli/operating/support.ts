import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import Database from 'better-sqlite3';
import type { EventFilter, EventStore } from '../../../src/store/event-store.ts';
import { ENGINE, testDatabase } from '../../support/engine.ts';
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
  /** How many events the operator's database has, all or of a status. */
  count(status?: EventFilter['status']): Promise<number>;
  /** Waits until so many events are handled. */
  handled(count: number): Promise<void>;
  /** Types a command of the doctor, which must find nothing that fails. @returns what it prints */
  examine(command: string): Promise<string>;
  /** Registers the documentation's 2yW4KmiG, and has its secret stored. @returns its id here */
  register(): Promise<string>;
}

/**
 * What the doctor finds of the server of tests, which does not wait for its disk, and of a database whose months are those of a virtual
 * clock.
 */
const OF_TEST_SERVER = /^(FAIL +durability|warn +partitions|warn +snapshots) .*\n/gm;

export function eachPost(): () => Post {
  let post: Post | undefined;
  let store: EventStore | undefined;
  let remove: () => Promise<void>;
  beforeEach(async () => {
    const installation = await install();
    const operator = await settledOperator(installation);
    const database = await testDatabase(join(operator.directory, 'data'));
    remove = database.remove;
    // A file lies where the documentation has it.
    if (ENGINE === 'postgres') operator.configure(database.env);
    const count: Post['count'] = async (status) => {
      store ??= await database.open();
      return store.count({ status });
    };
    post = {
      installation,
      operator,
      hook: `${operator.url}/webhooks/media`,
      async happen(count) {
        for (let i = 0; i < count; i++) installation.mock.createChannel({ site_id: SITE });
        await installation.mock.settled();
      },
      count,
      handled: (events) =>
        eventually(`${events} events are handled`, async () => (await count('handled')) === events),
      async examine(command) {
        const { stdout } = await operator.type(command, { code: ENGINE === 'postgres' ? 1 : 0 });
        const found = stdout.replace(OF_TEST_SERVER, '');
        if (/^FAIL/m.test(found)) throw new Error(`${command} finds:\n${found}`);
        return found;
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
  afterEach(async () => {
    await store?.close();
    store = undefined;
    await post?.installation.dispose();
    await remove();
  });
  return () => present(post);
}

/** The commands of a section of the page. */
export function operating(section: string): string[] {
  return commandsOf('operating.md', section);
}

/** How many events the file of a clone has, all or of a status: that of another clone, or one that is replaced. */
export function countIn(directory: string, status = '%'): number {
  const db = new Database(join(directory, 'data', 'receiver.db'), { readonly: true });
  try {
    const sql = 'SELECT count(*) FROM events WHERE status LIKE ?';
    return db.prepare<[string], number>(sql).pluck().get(status) ?? 0;
  } finally {
    db.close();
  }
}

/** Waits until the file of a clone has so many events that are handled. */
export function handledIn(directory: string, count: number): Promise<void> {
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
