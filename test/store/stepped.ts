import pg from 'pg';
import type { EventStore } from '../../src/store/event-store.ts';
import type { StoreOptions } from '../../src/store/open.ts';
import { eventually } from '../support/eventually.ts';
import type { Stage } from './stages.ts';

/** Runs a statement of the store's own transaction beside it. */
type Aside = (text: string) => Promise<Record<string, unknown>[]>;

interface Gate {
  readonly statement: RegExp;
  readonly reached: PromiseWithResolvers<void>;
  readonly opened: PromiseWithResolvers<void>;
}

/** A process with a store on PostgreSQL whose transactions stop where a test says. */
export class Stepped {
  readonly #name: string;
  readonly #stage: Stage;
  #store: EventStore | undefined;
  #gates: Gate[] = [];
  /** the statements that it sent, and the codes of errors that it got */
  readonly texts: string[] = [];
  readonly errors: string[] = [];
  /** called before each statement */
  before: ((text: string, aside: Aside) => unknown) | undefined;

  private constructor(stage: Stage, name: string) {
    this.#stage = stage;
    this.#name = name;
    processes.set(name, this);
  }

  static async start(stage: Stage, name: string, options: Partial<StoreOptions> = {}): Promise<Stepped> {
    const stepped = new Stepped(stage, name);
    const url = `${stage.url}?application_name=${name}`;
    stepped.#store = await stage.another({ DATABASE_URL: url, ...options });
    return stepped;
  }

  get store(): EventStore {
    if (!this.#store) throw new Error('it has not started');
    return this.#store;
  }

  /**
   * Starts an operation, and stops it before the first statement that matches. The function that it resolves with lets it go on, and
   * resolves with what the operation does.
   */
  async upTo<T>(statement: RegExp, operate: (store: EventStore) => Promise<T>): Promise<() => Promise<T>> {
    const gate = { statement, reached: Promise.withResolvers<void>(), opened: Promise.withResolvers<void>() };
    this.#gates.push(gate);
    const result = operate(this.store);
    await Promise.race([
      gate.reached.promise,
      result.then(() => Promise.reject(new Error(`there was no ${statement}`))),
    ]);
    return () => {
      gate.opened.resolve();
      return result;
    };
  }

  /** Starts an operation, and resolves once it is over or waits for a lock, with the promise of its result. */
  async goes<T>(
    operate: (store: EventStore) => Promise<T>,
  ): Promise<{ readonly result: Promise<T>; readonly isOver: boolean }> {
    let isOver = false;
    const result = operate(this.store).finally(() => {
      isOver = true;
    });
    await eventually(`${this.#name} waits for a lock`, async () => {
      const rows = await this.#stage.sql(
        `SELECT 1 FROM pg_stat_activity WHERE application_name = '${this.#name}' AND wait_event_type = 'Lock'`,
      );
      return isOver || rows.length > 0;
    });
    return { result, isOver };
  }

  /** Starts an operation, and resolves once it waits for a lock, with the promise of its result. */
  async waits<T>(operate: (store: EventStore) => Promise<T>): Promise<{ readonly result: Promise<T> }> {
    const started = await this.goes(operate);
    if (started.isOver) throw new Error(`${this.#name} waits for nothing`);
    return started;
  }

  async pass(text: string, aside: Aside): Promise<void> {
    this.texts.push(text);
    await this.before?.(text, aside);
    const gate = this.#gates.find(({ statement }) => statement.test(text));
    if (!gate) return;
    this.#gates = this.#gates.filter((one) => one !== gate);
    gate.reached.resolve();
    await gate.opened.promise;
  }
}

const processes = new Map<string, Stepped>();
const query = pg.Client.prototype.query as (
  ...given: unknown[]
) => Promise<{ rows: Record<string, unknown>[] }>;

pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
  const { connectionParameters } = this as unknown as { connectionParameters: { application_name?: string } };
  const stepped = processes.get(connectionParameters.application_name ?? '');
  const [first] = given as [string | { text: string }];
  if (!stepped) return query.apply(this, given);
  const aside: Aside = async (text) => (await query.call(this, text)).rows;
  return stepped
    .pass(typeof first === 'string' ? first : first.text, aside)
    .then(() => query.apply(this, given))
    .catch((error: { code?: string }) => {
      stepped.errors.push(String(error.code));
      throw error;
    });
} as never;
