import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { engineOf, openStore } from '../../src/store/open.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { connected, SECRETS_KEY } from '../support/postgres-databases.ts';
import type { DatabaseServer } from '../support/postgres-server.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';

const DIARY = `
  CREATE TABLE runs (run uuid PRIMARY KEY, process integer, event text, resource text, started timestamptz, ended timestamptz);
  CREATE TABLE published (event text);
  CREATE TABLE known_as_published (event text PRIMARY KEY);
  CREATE TABLE ends (process integer, at timestamptz)`;

/** Of all receivers, unless told otherwise. */
export const LEASE_MS = 3000;
const CLIENTS = 8;
const MEDIA = 40;
/** How long a client waits after each notification: some hundred events a second in all, of which nothing waits for long. */
const PAUSE_MS = 20;
const HANDLERS = 'test/faults/handlers/diary-table.ts';
const ours = join(import.meta.dirname, '../..');

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Options {
  /** has the diary; another server than that of the events, if that one is stopped */
  readonly diaryServer?: DatabaseServer;
  /** leads the receivers another way than straight to the server */
  readonly urlOf?: (database: string) => string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Starting {
  /** the folder of a program with the handlers in it; without it, ours */
  readonly program?: string;
  readonly name?: string;
  /** how many kinds it has handlers for: media_available, and media_updated */
  readonly kinds?: 1 | 2;
  readonly subscribers?: readonly string[];
}

/** Receivers on one database of events, and a diary of what their handlers did. */
export class Receivers {
  readonly #events: string;
  readonly #diary: string;
  readonly #env: Options['env'];
  readonly acknowledged = new Set<string>();
  /** how often each status was answered */
  readonly answers = new Map<number, number>();
  readonly processes: (ServiceProcess | undefined)[] = [];
  /** how many kinds are sent */
  kinds: 1 | 2 = 1;
  /** how many notifications no receiver acknowledged */
  unacknowledged = 0;
  #sent = 0;
  #isSending = false;
  #senders: Promise<void>[] = [];

  private constructor(events: string, diary: string, env: Options['env']) {
    this.#events = events;
    this.#diary = diary;
    this.#env = env;
  }

  static async on(server: DatabaseServer, options: Options = {}): Promise<Receivers> {
    const { diaryServer = server, urlOf = (database) => server.url(database), env } = options;
    const name = randomBytes(4).toString('hex');
    const make = (on: DatabaseServer, database: string) =>
      connected(on.adminUrl(), (admin) =>
        admin.query(`CREATE DATABASE ${database} OWNER ${new URL(on.url('any')).username}`),
      );
    await make(server, `receivers_${name}`);
    await make(diaryServer, `diary_${name}`);
    const diary = diaryServer.url(`diary_${name}`);
    await connected(diary, (client) => client.query(DIARY));
    return new Receivers(urlOf(`receivers_${name}`), diary, env);
  }

  async start(
    at: number,
    { program = ours, name = `receiver-${at}`, kinds = 1, subscribers = [] }: Starting = {},
  ): Promise<ServiceProcess> {
    const env = {
      DATABASE_URL: this.#events,
      DATABASE_POOL: '6',
      SECRETS_KEY: SECRETS_KEY.toString('base64'),
      WEBHOOK_SECRET: SECRET,
      // Longer than a process stands still on a busy machine: another one would rightly take over what it runs.
      LEASE_MS: `${LEASE_MS}`,
      RETRY_BASE_MS: '10',
      RETRY_CAP_MS: '100',
      RETRY_MAX_ATTEMPTS: '1000', // to be killed is no fault of an event's own here
      INSTANCE_NAME: name,
      HANDLERS: join(program, HANDLERS),
      DIARY_URL: this.#diary,
      KINDS: `${kinds}`,
      SUBSCRIBERS: subscribers.join(),
      ...this.#env,
    };
    const started = await startProcess(env, program, join(program, 'bin/hookkit.js'));
    this.processes[at] = started;
    return started;
  }

  /** Ends a receiver at once, and writes down when it was gone. */
  async kill(at: number): Promise<void> {
    const one = this.processes[at];
    this.processes[at] = undefined;
    const gone = one?.kill();
    const goneAt = new Date(); // the diary's server has the same clock
    await gone;
    await connected(this.#diary, (diary) =>
      diary.query('INSERT INTO ends VALUES ($1, $2)', [one?.child.pid, goneAt]),
    );
  }

  /** Stops a receiver in order; until it is gone, it is sent to. */
  async stop(at: number): Promise<void> {
    await this.processes[at]?.stop();
    this.processes[at] = undefined;
  }

  /**
   * Sends events to whichever receiver is there, each client one at a time, until `stopSending`.
   * @param tries to how many receivers one after the other, as a proxy does where one does not acknowledge
   */
  send({ clients = CLIENTS, tries = 1 } = {}): void {
    this.#isSending = true;
    this.#senders = Array.from({ length: clients }, async (_, client) => {
      for (let turn = client; this.#isSending; turn++) {
        const number = this.#sent++;
        const body = bodyOf(number, number % MEDIA, number % this.kinds ? 'media_updated' : undefined);
        let isAcknowledged = false;
        for (let at = turn; at < turn + tries && !isAcknowledged; at++) {
          const to = this.processes[at % this.processes.length];
          isAcknowledged = to !== undefined && (await this.#sendOne(to.url, body));
        }
        if (!isAcknowledged) this.unacknowledged++;
        await pause(PAUSE_MS);
      }
    });
  }

  async stopSending(): Promise<void> {
    this.#isSending = false;
    await Promise.all(this.#senders);
  }

  /** @returns whether it was acknowledged */
  async #sendOne(url: string, body: string): Promise<boolean> {
    try {
      const response = await deliver(url, body);
      const answer = (await response.json()) as { readonly id: string };
      this.answers.set(response.status, (this.answers.get(response.status) ?? 0) + 1);
      if (response.status === 200) this.acknowledged.add(answer.id);
      return response.status === 200;
    } catch {
      return false; // killed, or stopped
    }
  }

  /** @param open of the version of the program that made the tables */
  store(open = openStore): Promise<EventStore> {
    return open({ DATABASE_URL: this.#events, clock: systemClock, SECRETS_KEY, DATABASE_POOL: 2 });
  }

  /**
   * Stops sending, waits until everything is handled, and ends the receivers in order: each event was counted once in the state
   * that its media has of its subscriber, however often it ran.
   * @returns all ids, and those that were acknowledged and are not among them
   */
  async finish(
    open = openStore,
  ): Promise<{ readonly ids: ReadonlySet<string>; readonly lost: readonly string[] }> {
    await this.stopSending();
    const store = await this.store(open);
    const left = async () => {
      const behind = (await store.queue.subscribers()).map((one) => one.behind);
      const { pending, running } = await store.reports.overview();
      return behind.reduce((sum, one) => sum + one, pending + running);
    };
    while ((await left()) > 0) await pause(100);
    for (const one of this.processes) await one?.stop();
    const ids = new Set<string>();
    const upTo = await store.queue.lastSeq();
    for await (const page of store.queue.received({}, upTo)) for (const { id } of page) ids.add(id);
    const handled: Record<string, number> = {};
    const counted: Record<string, number> = {};
    for (const subscriber of await store.queue.subscriberNames()) {
      const values = await store.queue.states({ subscriber, of: 'media' });
      counted[subscriber] = values.reduce((sum, { value }) => sum + Number(value), 0);
      handled[subscriber] = await store.queue.count({ subscriber, status: 'handled' });
    }
    await store.close();
    expect(handled).toEqual({ ...counted, '': ids.size });
    expect(counted['']).toBe(ids.size);
    return { ids, lost: [...this.acknowledged].filter((id) => !ids.has(id)) };
  }

  /** The same, where nothing that was acknowledged may be lost, and two events of one media never run at once. */
  async finishWhole(open = openStore): Promise<void> {
    const { lost } = await this.finish(open);
    expect(lost).toEqual([]);
    expect(await this.overlaps()).toEqual([]);
  }

  /**
   * Runs of one resource (and subscriber) that began before the one before them had ended. A run that was killed ended with its process, even
   * if the server carried out what that had sent last a moment later.
   */
  overlaps() {
    return this.diary(
      `WITH ended AS (
         SELECT runs.*, coalesce(ended,
           (SELECT greatest(min(at), started) FROM ends WHERE ends.process = runs.process HAVING count(*) > 0)) AS over
         FROM runs)
       SELECT one.resource, one.event AS first, other.event AS second,
         concat_ws(' ', one.process, one.started, one.over, other.process, other.started, other.over) AS runs
       FROM ended one JOIN ended other USING (resource)
       WHERE one.run <> other.run AND other.started >= one.started AND other.started < coalesce(one.over, 'infinity')`,
    );
  }

  diary<R extends pg.QueryResultRow>(sql: string): Promise<R[]> {
    return connected(this.#diary, async (client) => (await client.query<R>(sql)).rows);
  }

  /** Asks the database of the events, once the receivers have ended. */
  async events<R>(sql: string): Promise<R[]> {
    await using raw = await (await engineOf(this.#events)).openRaw(this.#events);
    return await raw.transact((db) => db.all<R>(sql));
  }
}
