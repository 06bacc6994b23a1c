import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { Random } from '../../src/mock/random.ts';
import { openStore } from '../../src/store/open.ts';
import { eventually } from '../support/eventually.ts';
import { connected, SECRETS_KEY } from '../support/postgres-databases.ts';
import { OWNER, type PostgresServer } from '../support/postgres-server.ts';
import { describeWithPostgres, startPostgres } from '../support/shared-postgres.ts';
import { size } from '../support/sizes.ts';
import { pause, Receivers } from './receivers.ts';

const FAILOVERS = size({ small: 2, full: 6 });

/** Two servers, of which one follows the other. */
class Pair {
  primary: PostgresServer;
  standby: PostgresServer;
  /** in the order of the URL, which never changes */
  readonly #hosts: readonly PostgresServer[];

  private constructor(primary: PostgresServer, standby: PostgresServer) {
    this.primary = primary;
    this.standby = standby;
    this.#hosts = [primary, standby];
  }

  /** @param isSynchronous whether commits wait for the standby, whichever of them it is */
  static async start(isSynchronous: boolean): Promise<Pair> {
    const settings = { synchronous_standby_names: isSynchronous ? '*' : '' };
    const options = { durable: true, settings };
    const primary = await startPostgres(options);
    const pair = new Pair(primary, await startPostgres(options, primary));
    await pair.#isFollowed();
    return pair;
  }

  url(database: string): string {
    const [first, second] = this.#hosts;
    return this.primary
      .url(database)
      .replace(/@[^/]+/, `@127.0.0.1:${first?.port},127.0.0.1:${second?.port}`);
  }

  /** The standby takes the place of the primary, which does not run any more. */
  async promote(): Promise<void> {
    await this.standby.promote();
    [this.primary, this.standby] = [this.standby, this.primary];
  }

  /** What was the primary comes back as the standby. */
  async rejoin(): Promise<void> {
    await this.standby.follow(this.primary);
    await this.standby.restart();
    await this.#isFollowed();
  }

  async #isFollowed(): Promise<void> {
    await eventually('the standby receives what the primary writes', () =>
      connected(this.primary.adminUrl(), async (admin) => {
        const { rowCount } = await admin.query("SELECT FROM pg_stat_replication WHERE state = 'streaming'");
        return rowCount === 1;
      }),
    );
  }
}

describeWithPostgres('receivers that follow from a PostgreSQL to its standby', (shared) => {
  test(`lose nothing, when the primary is killed and its synchronous standby promoted, ${FAILOVERS} times`, async () => {
    const random = new Random(20_261_124);
    const pair = await Pair.start(true);
    const receivers = await Receivers.on(pair.primary, {
      diaryServer: shared,
      urlOf: (name) => pair.url(name),
    });
    for (const at of [0, 1]) await receivers.start(at);
    receivers.send();
    for (let round = 0; round < FAILOVERS; round++) {
      await pause(500 + random.int(1000));
      await pair.primary.kill();
      await pause(random.int(1000));
      await pair.promote();
      const before = receivers.acknowledged.size;
      await pair.rejoin(); // until then commits wait for it
      await eventually('receivers acknowledge again', () => receivers.acknowledged.size > before);
    }
    await receivers.finishWhole();
    expect([...receivers.answers.keys()].sort()).toEqual([200, 503]);
  });

  test('acknowledge nothing that only one server has, when a synchronous standby is away and the wait for it is cancelled', async () => {
    const pair = await Pair.start(true);
    const receivers = await Receivers.on(pair.primary, { diaryServer: shared });
    await receivers.start(0);
    await pair.standby.stop();
    receivers.send();
    await connected(pair.primary.adminUrl(), (admin) =>
      eventually('acks whose wait is cancelled are answered', async () => {
        await admin.query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
        return (receivers.answers.get(503) ?? 0) >= 8;
      }),
    );
    expect([...receivers.answers.keys()]).toEqual([503]);
    await pair.standby.restart();
    await eventually('receivers acknowledge', () => receivers.answers.has(200));
    await receivers.finishWhole();
  });
});

describeWithPostgres('a store on several hosts', () => {
  test('leads to the other one, when the first has gone silent without a word', async () => {
    const pair = await Pair.start(false);
    const { primary, standby } = pair;
    await connected(primary.adminUrl(), (admin) => admin.query(`CREATE DATABASE kit OWNER ${OWNER}`));
    const way = await silentWay(primary.port);
    const url = pair.url('kit').replace(`:${primary.port}`, `:${way.port}`);
    const store = await openStore({ DATABASE_URL: url, clock: systemClock, SECRETS_KEY, DATABASE_POOL: 2 });
    await store.queue.ping();
    way.fallSilent();
    await standby.promote();
    const isAway = () =>
      store.queue.ping().then(
        () => false,
        () => true,
      );
    await eventually('the store commits again', async () => !(await isAway()));
    await store.close();
    await way.close();
  });
});

/** A way to a port that can fall silent, as a machine does whose power is cut: connections stay, and nothing comes back. */
async function silentWay(to: number) {
  const sockets = new Set<Socket>();
  let isSilent = false;
  const server = createServer((near) => {
    sockets.add(near);
    near.on('error', () => undefined);
    if (isSilent) return;
    const far = connect(to, '127.0.0.1').on('error', () => undefined);
    sockets.add(far);
    near.on('data', (chunk) => isSilent || far.write(chunk));
    far.on('data', (chunk) => isSilent || near.write(chunk));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    fallSilent() {
      isSilent = true;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
