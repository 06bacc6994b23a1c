import { describe, expect, test } from '@jest/globals';
import { fail, retry, skip } from '../../src/dispatch/handler.ts';
import { type RetryPolicy, settlementOf } from '../../src/dispatch/settlement.ts';

const NOW = 1_000_000;
const policy: RetryPolicy = { maxAttempts: 3, baseMs: 1000, capMs: 60_000, random: () => 0.5 };

describe('settlementOf', () => {
  test('ends an event, when it was handled, without an error', () => {
    expect(settlementOf({ type: 'handled' }, 1, NOW, policy)).toEqual({
      status: 'handled',
      outcome: 'handled',
    });
  });

  test('ends an event, when it was skipped, with the reason', () => {
    expect(settlementOf(skip('not for us'), 1, NOW, policy)).toEqual({
      status: 'skipped',
      outcome: 'skipped',
      error: 'not for us',
    });
  });

  test.each([fail('never'), { type: 'dead', reason: 'never' } as const])(
    'gives an event up, when its run ended as %j, though it has attempts left',
    (run) => {
      expect(settlementOf(run, 1, NOW, policy)).toEqual({
        status: 'dead',
        outcome: 'failed',
        error: 'never',
      });
    },
  );

  test.each([
    [{ type: 'error', reason: 'down' } as const, 1, 500],
    [{ type: 'error', reason: 'down' } as const, 2, 1000],
    [{ type: 'timeout', reason: 'down' } as const, 2, 1000],
    [retry({ reason: 'down' }), 2, 1000],
    [retry({ reason: 'down', after: 0 }), 2, 0],
    [retry({ reason: 'down', after: 86_400_000 }), 2, 86_400_000],
  ])('puts an event off, when its run ended as %j in attempt %d, by %d ms', (run, attempt, after) => {
    expect(settlementOf(run, attempt, NOW, policy)).toEqual({
      status: 'pending',
      outcome: run.type,
      error: 'down',
      nextAttemptAt: NOW + after,
    });
  });

  test.each([
    { type: 'error', reason: 'down' } as const,
    { type: 'timeout', reason: 'down' } as const,
    retry({ reason: 'down', after: 1 }),
  ])('gives an event up, when its last attempt ended as %j, with the reason', (run) => {
    expect(settlementOf(run, 3, NOW, policy)).toEqual({ status: 'dead', outcome: run.type, error: 'down' });
    expect(settlementOf(run, 4, NOW, policy).status).toBe('dead');
  });
});
