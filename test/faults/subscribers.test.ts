import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ofSubscriber } from '../../src/store/stored.ts';
import { eventually } from '../support/eventually.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { LEASE_MS, pause, Receivers } from './receivers.ts';

/** How many receivers are killed, in turn, at each of three stages. */
const KILLS = size({ small: 3, full: 30 });
/** How many notifications are acknowledged before each kill, at least. */
const ACKS = 20;
const CLIENTS = 4;
const FIRST = ['search', 'captions'];
const WITH_DIGEST = [...FIRST, 'digest'];
const WITHOUT_CAPTIONS = ['search', 'digest'];

describeWithPostgres('receivers with subscribers, killed in turn under load', (server) => {
  test.each([
    { engine: 'PostgreSQL', count: 3 },
    { engine: 'SQLite', count: 1 },
  ])(
    'handle each notification for each subscriber that is there, as one event of each, when deploys add one and remove another, $count on $engine',
    async ({ engine, count }) => {
      const file = `sqlite:${join(await temporaryDirectory(), 'receiver.db')}`;
      const receivers = await Receivers.on(server, engine === 'SQLite' ? { urlOf: () => file } : {});
      const acknowledged = () => [...receivers.acknowledged];
      const start = (at: number, subscribers: readonly string[]) => receivers.start(at, { subscribers });
      const deploy = async (at: number, subscribers: readonly string[]) => {
        await receivers.stop(at);
        await start(at, subscribers);
      };
      const kill = async (at: number, subscribers: readonly string[]) => {
        const before = receivers.acknowledged.size;
        await eventually('more are acknowledged', () => receivers.acknowledged.size >= before + ACKS);
        await receivers.kill(at);
        await start(at, subscribers);
      };
      const killInTurn = async (subscribers: readonly string[]) => {
        for (let turn = 0; turn < KILLS; turn++) await kill(turn % count, subscribers);
      };
      /** The ids for whose event a subscriber's handler has not run to its end. */
      const lacking = async (subscriber: string, ids: readonly string[]) => {
        const runs = await receivers.diary<{ event: string }>(
          'SELECT event FROM runs WHERE ended IS NOT NULL',
        );
        const events = new Set(runs.map(({ event }) => event));
        return ids.filter((id) => !events.has(ofSubscriber(id, subscriber)));
      };

      for (let at = 0; at < count; at++) await start(at, FIRST);
      receivers.send({ clients: CLIENTS, tries: count });
      await killInTurn(FIRST);

      const beforeDigest = acknowledged();
      await deploy(0, WITH_DIGEST);
      const sinceDigest = receivers.acknowledged.size;
      for (let at = 1; at < count; at++) {
        await kill(at, FIRST); // it records, and knows nothing of the new subscriber
        await deploy(at, WITH_DIGEST);
      }

      const ofCaptions = acknowledged();
      const hasAll = async () => (await lacking('captions', ofCaptions)).length === 0;
      await eventually('the subscriber that goes has handled what there is', hasAll);
      await killInTurn(WITHOUT_CAPTIONS); // amid its handlers: nobody recovers these leases
      await pause(LEASE_MS);
      const store = await receivers.store();
      const dismissed = await store.queue.removeSubscriber('captions');
      const sinceRemoval = receivers.acknowledged.size;
      const { captions } = (await store.reports.overview()).subscribers;
      expect(captions).toMatchObject({ pending: 0, running: 0 });
      expect(await store.queue.count({ subscriber: 'captions', status: 'dismissed' })).toBe(dismissed);
      await store.close();
      await killInTurn(WITHOUT_CAPTIONS);

      await receivers.finishWhole();
      const all = acknowledged();
      expect(await lacking('', all)).toEqual([]);
      expect(await lacking('search', all)).toEqual([]);
      expect(await lacking('digest', all.slice(sinceDigest))).toEqual([]);
      const events = await receivers.events<{ id: string; subscriber: string; body: string }>(
        'SELECT id, subscriber, body FROM events',
      );
      const ids = new Set(events.map(({ id }) => id));
      expect(beforeDigest.filter((id) => ids.has(`${id}@digest`))).toEqual([]);
      expect(all.slice(sinceRemoval).filter((id) => ids.has(`${id}@captions`))).toEqual([]);
      const different = new Set(events.map(({ subscriber, body }) => `${subscriber} ${body}`));
      expect(different.size).toBe(events.length);
    },
  );
});
