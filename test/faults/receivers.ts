import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { idsIn } from '../support/events-in.ts';
import { deliver, SECRET } from '../support/notifications.ts';
import { connected, SECRETS_KEY } from '../support/postgres-databases.ts';
import type { DatabaseServer } from '../support/postgres-server.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';

const DIARY = `
  CREATE TABLE runs (run uuid PRIMARY KEY, process integer, event text, resource text, started timestamptz, ended timestamptz);
  CREATE TABLE published (event text);
  CREATE TABLE known_as_published (event text PRIMARY KEY);
  CREATE TABLE ends (process integer, at timestamptz)`;

/** A run of a handler that overlaps with another of its resource. */
export interface Overlap {
  readonly resource: string;
  readonly first: string;
  readonly second: string;
  /** the processes, and when each began and ended */
  readonly runs: string;
}

/** An event of a receiver that was killed, until it ran again. */
export interface Takeover {
  readonly ms: number;
  /** how many other receivers were killed in that time */
  readonly killedMeanwhile: number;
}

/** Of all receivers, unless told otherwise. */
export const LEASE_MS = 3000;

/** How long a client waits after each notification: some hundred events a second in all, of which nothing waits for long. */
const PAUSE_MS = 20;

const HANDLERS = 'test/faults/handlers/diary-table.ts';

interface Starting {
  /** the folder of a program with the handlers in it, to be served as an operator does; without it, ours */
  readonly program?: string;
  /** settings beside those of all receivers */
  readonly env?: Readonly<Record<string, string>>;
}

/** Receivers on one database of events, and a diary of what their handlers did. */
export class Receivers {
  readonly #events: string;
  readonly #diary: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly acknowledged = new Set<string>();
  /** how often each status was answered */
  readonly answers = new Map<number, number>();
  readonly processes: (ServiceProcess | undefined)[] = [];
  /** how many notifications no receiver acknowledged */
  unacknowledged = 0;
  #sent = 0;
  #isSending = false;
  #senders: Promise<void>[] = [];

  private constructor(events: string, diary: string, env: Readonly<Record<string, string>>) {
    this.#events = events;
    this.#diary = diary;
    this.#env = env;
  }

  /**
   * @param diaryServer has the diary; another server than that of the events, where that one is stopped
   * @param urlOf leads the receivers another way than straight to the server
   */
  static async on(
    server: DatabaseServer,
    {
      diaryServer = server,
      urlOf = (database) => server.url(database),
      ...env
    }: {
      readonly diaryServer?: DatabaseServer;
      readonly urlOf?: (database: string) => string;
      readonly [name: string]: unknown;
    } = {},
  ): Promise<Receivers> {
    const name = randomBytes(4).toString('hex');
    const make = async (on: DatabaseServer, database: string) => {
      const owner = new URL(on.url('any')).username;
      await connected(on.adminUrl(), (admin) => admin.query(`CREATE DATABASE ${database} OWNER ${owner}`));
      return on.url(database);
    };
    await make(server, `receivers_${name}`);
    const events = urlOf(`receivers_${name}`);
    const diary = await make(diaryServer, `diary_${name}`);
    await connected(diary, (client) => client.query(DIARY));
    return new Receivers(events, diary, env as Readonly<Record<string, string>>);
  }

  async start(at: number, { program, env: own = {} }: Starting = {}): Promise<ServiceProcess> {
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
      DIARY_URL: this.#diary,
      LOG_LEVEL: 'warn',
      ...this.#env,
      ...own,
    };
    const started = program
      ? await startProcess(
          // The line that names the port is one of level info.
          { ...env, LOG_LEVEL: 'info', HANDLERS: join(program, HANDLERS) },
          undefined,
          program,
          join(program, 'bin/hookkit.js'),
        )
      : await startProcess(env, new URL('./handlers/diary-table.ts', import.meta.url));
    this.processes[at] = started;
    return started;
  }

  /** Ends a receiver at once, and writes down when it was gone. */
  async kill(at: number): Promise<void> {
    const one = this.processes[at];
    this.processes[at] = undefined;
    one?.child.kill('SIGKILL');
    const goneAt = new Date(); // the diary's server has the same clock
    await one?.exited;
    await connected(this.#diary, (diary) =>
      diary.query('INSERT INTO ends VALUES ($1, $2)', [one?.child.pid, goneAt]),
    );
  }

  /** Stops a receiver in order; until it is gone, it is sent to. @returns its exit code */
  async stop(at: number): Promise<number | null | undefined> {
    const one = this.processes[at];
    one?.child.kill('SIGTERM');
    const code = await one?.exited;
    this.processes[at] = undefined;
    return code;
  }

  /**
   * Sends events of so many media to whichever receiver is there, each client one at a time, until `stopSending`.
   * @param tries to how many receivers one after the other, as a proxy does where one does not acknowledge
   */
  send(clients: number, media: number, tries = 1): void {
    this.#isSending = true;
    this.#senders = Array.from({ length: clients }, async (_, client) => {
      for (let turn = client; this.#isSending; turn++) {
        const body = this.#nextOf(media);
        let isAcknowledged = false;
        for (let at = turn; at < turn + tries && !isAcknowledged; at++) {
          const to = this.processes[at % this.processes.length];
          isAcknowledged = to !== undefined && (await this.#sendOne(to.url, body));
        }
        if (!isAcknowledged) this.unacknowledged++;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    });
  }

  async stopSending(): Promise<void> {
    this.#isSending = false;
    await Promise.all(this.#senders);
  }

  #nextOf(media: number): string {
    const number = this.#sent++;
    return JSON.stringify({
      event: 'media_available',
      media_id: `media${number % media}`,
      webhook_id: 'hook0001',
      site_id: 'site0001',
      event_time: new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString(),
    });
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
    return open({ url: this.#events, clock: systemClock, secretsKey: SECRETS_KEY, connections: 2 });
  }

  /** Waits until everything is handled, and ends the receivers in order. @returns all ids, and the state of each resource */
  async finish(open = openStore): Promise<{
    readonly ids: ReadonlySet<string>;
    readonly handled: number;
    readonly counted: number;
  }> {
    const store = await this.store(open);
    for (;;) {
      const left = (await store.count({ status: 'pending' })) + (await store.count({ status: 'running' }));
      if (left === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    for (const one of this.processes) one?.child.kill('SIGTERM');
    await Promise.all(this.processes.map((one) => one?.exited));
    const ids = await idsIn(store);
    const { values } = await store.states({ of: 'media', name: 'events' });
    const counted = values.reduce((sum, { value }) => sum + Number(value), 0);
    const handled = await store.count({ status: 'handled' });
    await store.close();
    return { ids, handled, counted };
  }

  /**
   * Runs of one resource that began before the one before them had ended. A run that was killed ended with its process, even
   * if the server carried out what that had sent last a moment later.
   */
  async overlaps(): Promise<readonly Overlap[]> {
    return this.diary(
      `WITH ended AS (
         SELECT runs.*, coalesce(ended,
           (SELECT greatest(min(at), started) FROM ends WHERE ends.process = runs.process HAVING count(*) > 0)) AS over
         FROM runs)
       SELECT one.resource, one.event AS first, other.event AS second,
         concat_ws(' ', one.process, one.started, one.over, other.process, other.started, other.over) AS runs FROM ended one JOIN ended other USING (resource)
       WHERE one.run <> other.run AND other.started >= one.started AND other.started < coalesce(one.over, 'infinity')`,
    );
  }

  /** How long after the end of each receiver that was killed each event that it ran began to run again, the longest last. */
  async takeovers(): Promise<readonly Takeover[]> {
    return this.diary<Takeover>(
      `WITH again AS (
         SELECT ends.at AS gone, min(next.started) AS started
         FROM runs held JOIN ends USING (process)
           JOIN runs next ON next.event = held.event AND next.started > ends.at
         WHERE held.ended IS NULL GROUP BY held.run, ends.at)
       SELECT extract(epoch FROM started - gone)::float8 * 1000 AS ms,
         (SELECT count(*)::integer FROM ends WHERE at > gone AND at < started) AS "killedMeanwhile"
       FROM again ORDER BY ms`,
    );
  }

  async diary<R extends pg.QueryResultRow>(sql: string): Promise<R[]> {
    return rowsOf<R>(this.#diary, sql);
  }

  /** Asks the database of the events. */
  async events<R extends pg.QueryResultRow>(sql: string): Promise<R[]> {
    return rowsOf<R>(this.#events, sql);
  }
}

function rowsOf<R extends pg.QueryResultRow>(url: string, sql: string): Promise<R[]> {
  return connected(url, async (client) => (await client.query<R>(sql)).rows);
}
