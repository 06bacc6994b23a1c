import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { openStore } from '../../src/store/open.ts';
import { VERSION } from '../../src/store/schema.ts';
import { eventually } from '../support/eventually.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { copyNextVersion } from '../support/program-copy.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { describeWithPostgres, startPostgres } from '../support/shared-postgres.ts';
import { Receivers } from './receivers.ts';

const now = fileURLToPath(new URL('../../', import.meta.url));

describeWithPostgres('three receivers that are replaced by the next version, one after the other', () => {
  let server: PostgresServer;
  let next: string;
  let openNext: typeof openStore;
  beforeAll(async () => {
    server = await startPostgres({ durable: true });
    next = copyNextVersion(['test/faults/handlers']);
    ({ openStore: openNext } = await import(join(next, 'src/store/open.ts')));
  });
  afterAll(async () => {
    if (next) rmSync(next, { recursive: true });
  });

  test('answer everything, lose nothing and run no two of one media at once', async () => {
    const receivers = await Receivers.on(server);
    const start = (at: number, program: string) =>
      receivers.start(
        at,
        program === now ? { program, name: `now-${at}` } : { program, name: `next-${at}`, kinds: 2 },
      );
    const old = [await start(0, now), await start(1, now), await start(2, now)];
    receivers.send({ tries: 4 });
    for (const one of old) await handlesMore(receivers, one);

    // Two of the next version at once: one changes the schema, while those of the former version go on.
    const [first, second] = old.slice(1);
    if (!first || !second) throw new Error('three were started');
    await receivers.stop(0);
    const news = await Promise.all([start(0, next), start(3, next)]);
    receivers.kinds = 2; // of which those of the former version have no handler for one
    for (const one of [first, second, ...news]) await handlesMore(receivers, one);
    await expect(start(4, now)).rejects.toThrow(`version ${VERSION + 1} and this program knows ${VERSION}`);

    for (const at of [1, 2]) {
      await receivers.stop(at);
      await handlesMore(receivers, await start(at, next));
    }
    await receivers.finishWhole(openNext);
    expect(receivers.unacknowledged).toBe(0);
    const kinds = await receivers.events<{ outcome: string; instance: string }>(
      `SELECT DISTINCT outcome, split_part(instance, '-', 1) AS instance FROM hookkit.attempts JOIN hookkit.events ON seq = event
       WHERE kind = 'media_updated' AND outcome NOT IN ('lost', 'interrupted') ORDER BY outcome`,
    );
    expect(kinds).toEqual([
      { outcome: 'elsewhere', instance: 'now' },
      { outcome: 'handled', instance: 'next' },
    ]);
  });
});

/** Waits until a receiver has run a handler once more. */
async function handlesMore(receivers: Receivers, { child }: ServiceProcess): Promise<void> {
  const runs = async () => {
    const [row] = await receivers.diary<{ runs: number }>(
      `SELECT count(*)::integer AS runs FROM runs WHERE process = ${child.pid}`,
    );
    return row?.runs ?? 0;
  };
  const before = await runs();
  await eventually('it handles more events', async () => (await runs()) > before);
}
