import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { openVault } from '../../src/store/driver-store.ts';
import type { StoreLink } from '../../src/store/link.ts';
import { Rows } from '../../src/store/memory/rows.ts';
import { secretTables } from '../../src/store/memory/secret-tables.ts';
import { operations, type TableOperations } from '../../src/store/semantics/operations.ts';
import { givenKey } from '../../src/store/vault.ts';

const KEY = Buffer.alloc(32, 7);
const clock = new VirtualClock();

/** The secrets in memory, and a link to them that counts what is asked for. */
function build() {
  const rows = new Rows();
  const tables = secretTables(rows);
  const counts = new Map<string, number>();
  const link = {
    async request(name: keyof typeof operations, input: never) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      return (operations[name] as (of: typeof tables, given: never) => unknown)(tables, input);
    },
  } as unknown as StoreLink<TableOperations>;
  return { rows, counts, open: () => openVault(link, givenKey(KEY)) };
}

describe('the vault', () => {
  test('asks one short question, however many secrets there are, as long as nothing changes, and gives the same lists', async () => {
    const { counts, open } = build();
    const vault = await open();
    for (let index = 0; index < 1000; index++) await vault.add(`hook${index}`, `secret ${index}`, index);
    const secrets = await vault.list(clock.now());
    const webhooks = await vault.webhooks();
    expect([secrets.length, webhooks.length, await vault.unreadable()]).toEqual([1000, 1000, []]);
    counts.clear();
    for (let round = 0; round < 20; round++) {
      expect(await vault.list(clock.now())).toBe(secrets);
      expect(await vault.webhooks()).toBe(webhooks);
      await vault.unreadable();
    }
    expect([...counts]).toEqual([['secretsStamp', 60]]);
  });

  test('gives the same list also where some are retired, and another one from the next retirement on', async () => {
    const vault = await build().open();
    for (let index = 0; index < 3; index++) {
      await vault.add(`hook${index}`, 'secret', index);
      await vault.retire(`hook${index}`, 'secret', 100 * (index + 1));
    }
    await vault.add('stays', 'secret', 9);
    const before = await vault.list(150);
    expect(before).toHaveLength(3);
    expect([await vault.list(100), await vault.list(199)].every((list) => list === before)).toBe(true);
    expect([(await vault.list(200)).length, (await vault.list(99)).length]).toEqual([2, 4]);
  });

  test('reads again what this process or another has stored, retired, removed or sealed under another key', async () => {
    const { open } = build();
    const [one, other] = [await open(), await open()];
    const secretsOf = async (vault: typeof one) =>
      (await vault.list(10)).map(({ webhookId, secret }) => `${webhookId} ${secret}`);
    const both = async () => {
      const [first, second] = [await secretsOf(one), await secretsOf(other)];
      expect(second).toEqual(first);
      return first;
    };
    expect(await both()).toEqual([]);
    await one.add('a', 'first', 1);
    expect(await both()).toEqual(['a first']);
    await other.add('b', 'second', 2);
    expect(await both()).toEqual(['a first', 'b second']);
    await one.retire('a', 'first', 10);
    expect(await both()).toEqual(['b second']);
    expect(await other.webhooks()).toEqual(['a', 'b']);
    await other.replaceAll([{ webhookId: 'c', secret: 'third', createdAt: 3, retireAt: undefined }]);
    expect(await both()).toEqual(['c third']);
  });

  test('leaves a secret out from the moment of its retirement on, though nothing is written then', async () => {
    const vault = await build().open();
    await vault.add('a', 'old', 1);
    await vault.add('a', 'new', 2);
    await vault.retire('a', 'old', 100);
    const at = async (now: number) => (await vault.list(now)).map(({ secret }) => secret);
    expect([await at(99), await at(100), await at(99)]).toEqual([['old', 'new'], ['new'], ['old', 'new']]);
  });
});
