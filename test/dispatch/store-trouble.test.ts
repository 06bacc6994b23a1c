import { describe, expect, test } from '@jest/globals';
import { KitError } from '../../src/base/errors.ts';
import { eachWithStage, LEASE_MS } from '../support/dispatch-stage.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';
import { verified } from '../support/verified-notification.ts';

const stage = eachWithStage(sqliteFixture());

/** Fails the first so many times, as a store that cannot commit does. */
function failing(times: number): () => void {
  let left = times;
  return () => {
    if (left-- > 0) throw new KitError('STORE_UNAVAILABLE', 'the disk is full');
  };
}

describe('a store that cannot commit', () => {
  test('gets the result later, when it fails while one is stored, and the handler does not run again', async () => {
    const { clock, logged, record, start, quiet, pass, event } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { intercept } = await start({ media_available: held.handle });
    intercept('settle', failing(3));
    held.last.end();
    await quiet();
    expect(await event(id)).toMatchObject({ status: 'running' });
    await pass(10_000);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1, handledAt: expect.any(Number) });
    expect((await event(id)).handledAt).toBeLessThanOrEqual(clock.now());
    expect(held.runs).toHaveLength(1);
    expect(logged('cannot store a result; trying again')).toHaveLength(3);
  });

  test('keeps the lease renewed, when a result waits for it longer than a lease', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    const [held, other] = [new HeldHandler(), new HeldHandler()];
    const { intercept } = await start({ media_available: held.handle });
    await start({ media_available: other.handle });
    intercept('settle', failing(100));
    held.last.end();
    await pass(3 * LEASE_MS);
    intercept('settle', () => {});
    await pass(2000);
    expect(other.runs).toHaveLength(0);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
  });

  test('is asked again, when it fails while events are claimed, until it gives them', async () => {
    const { logged, record, start, pass, event } = stage();
    const { intercept } = await start({ media_available() {} });
    intercept('claim', failing(4));
    const id = await record();
    await pass(5000);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
    expect(logged('cannot claim events; trying again')).toHaveLength(1);
  });

  test('is said to fail once in ten seconds, with how often it was asked meanwhile, however long it fails', async () => {
    const { logged, record, start, pass } = stage();
    const { intercept } = await start({ media_available() {} });
    intercept('claim', failing(1000));
    await record();
    await pass(60_000);
    const lines = logged('cannot claim events; trying again');
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.length).toBeLessThan(9);
    expect(lines.slice(1)).toEqual(
      lines.slice(1).map(() => expect.objectContaining({ leftOut: expect.any(Number) })),
    );
  });

  test('gives an event again to the same process, when the answer to its claim was lost, also while that process runs others', async () => {
    const { record, start, pass, event } = stage();
    const other = await record({ media_id: 'other' });
    const held = new HeldHandler();
    const { loseAnswer } = await start({ media_available: held.handle }, { handlerTimeoutMs: 10 * LEASE_MS });
    loseAnswer('claim');
    const id = await record({ media_id: 'lost' });
    await pass(LEASE_MS + 5000);
    expect(held.runs.map(({ ctx }) => [ctx.id, ctx.attempt])).toEqual([
      [other, 1],
      [id, 2],
    ]);
    expect(await event(other)).toMatchObject({ status: 'running', attempts: 1 });
  });

  test('has a result once, and nobody is told that its lease was lost, when the answer to it was lost', async () => {
    const { record, start, pass, event, store, logged } = stage();
    const held = new HeldHandler();
    const ran: string[] = [];
    const observer = {
      answered() {},
      committed() {},
      secretsFound() {},
      ran: ({ id }: { readonly id: string }) => void ran.push(id),
    };
    const { loseAnswer } = await start({ media_available: held.handle }, { observer });
    const id = await record();
    await pass(1000);
    loseAnswer('settle');
    held.last.end();
    await pass(2000);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
    expect(await store.attempts(id)).toHaveLength(1);
    expect(ran).toEqual([id]);
    expect(logged('cannot store a result; trying again')).toHaveLength(1);
    expect(logged('the lease was lost while the handler ran; another process has the event')).toEqual([]);
  });

  test('does not abort handlers, when it fails once while leases are renewed', async () => {
    const { record, start, pass, quiet, event } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { intercept } = await start({ media_available: held.handle }, { handlerTimeoutMs: 10 * LEASE_MS });
    intercept('renew', failing(1));
    await pass(2 * LEASE_MS);
    expect(held.last.ctx.signal.aborted).toBe(false);
    held.last.end();
    await quiet();
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
  });

  test('is asked again ten times as soon, when it fails while leases are renewed, as it may be there for others only', async () => {
    const { record, start, pass, quiet } = stage();
    await record();
    const held = new HeldHandler();
    const { intercept } = await start({ media_available: held.handle }, { handlerTimeoutMs: 10 * LEASE_MS });
    const fail = failing(2);
    let asked = 0;
    intercept('renew', () => {
      asked++;
      fail();
    });
    const askedAfter: number[] = [];
    for (const part of [1 / 3, 1 / 30, 1 / 30, 1 / 3 - 1 / 30, 1 / 30]) {
      await pass(LEASE_MS * part);
      askedAfter.push(asked);
    }
    expect(askedAfter).toEqual([1, 2, 3, 3, 4]);
    held.last.end();
    await quiet();
  });

  test('gets the result of a step later, when it fails while one is stored, in the same attempt', async () => {
    const { record, start, pass, event } = stage();
    const { intercept } = await start({ media_available: (_event, ctx) => ctx.once('announce', () => {}) });
    intercept('saveStep', failing(1));
    const id = await record();
    await pass(10_000);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
  });
});

describe('a stored text that this version cannot read', () => {
  test('is given up, when its turn comes, and the others are handled', async () => {
    const { store, record, start, pass, event } = stage();
    const { id } = await store.record({ ...verified({ media_id: 'odd' }), body: 'not JSON' });
    const other = await record();
    await start({ media_available() {} });
    await pass(1000);
    expect(await event(other)).toMatchObject({ status: 'handled' });
    expect(await event(id)).toMatchObject({
      status: 'dead',
      lastError: expect.stringMatching(/^invalid payload: /),
    });
  });
});
