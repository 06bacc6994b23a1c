import { z } from 'zod';

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Further than this, dates end. */
const LONGEST_MS = 100 * 365 * units.d;

/** A length of time such as `6m`, `1.5h` or `250ms`, in milliseconds. */
export const durationSchema = z.string().transform((text, context) => {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  const ms = Math.round(
    Number(number) * (Object.entries(units).find(([name]) => name === unit)?.[1] ?? Number.NaN),
  );
  if (ms <= LONGEST_MS) return ms;
  context.addIssue({ code: 'custom', message: 'must be a time such as 500ms, 30s, 6m, 2h or 1d' });
  return z.NEVER;
});
