import { describe, expect, test } from '@jest/globals';
import { handlers } from '../../src/demo/handlers.ts';
import { KINDS, kindNames } from '../../src/notification/kinds.ts';
import { handlersAtWork } from '../support/handlers-at-work.ts';

describe('the table of handlers', () => {
  test('has every kind of the specification and no kind, leaving unknown ones to be skipped', () => {
    expect(Object.keys(handlers).toSorted()).toEqual(kindNames.toSorted());
  });
});

describe('the handlers', () => {
  const work = handlersAtWork();

  test('end each kind, when it comes once, as handled and say in the log what happened to what', async () => {
    const { record, runAll, event, log } = work();
    const recorded = new Map<string, string>();
    for (const kind of kindNames) {
      const ids = Object.fromEntries(KINDS[kind].ids.map((name) => [name, `${name}-of-${kind}`]));
      recorded.set(kind, await record({ media_id: undefined, ...ids, event: kind }));
    }
    await runAll(handlers);
    for (const kind of kindNames) {
      const id = recorded.get(kind) ?? '';
      expect(await event(id)).toMatchObject({ kind, status: 'handled', attempts: 1 });
      const lines = log.lines.filter((line) => line.includes(id)).join('');
      for (const name of KINDS[kind].ids) expect(lines).toContain(`${name}-of-${kind}`);
    }
  });

  test('end a kind that is not in the specification, when it comes, as skipped', async () => {
    const { record, runAll, event } = work();
    const id = await record({ event: 'media_archived' });
    await runAll(handlers);
    expect(await event(id)).toMatchObject({ status: 'skipped', lastError: 'unknown kind "media_archived"' });
  });
});
