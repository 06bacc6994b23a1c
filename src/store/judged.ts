import type { Finding } from '../base/finding.ts';

/** Something that may be wrong, and what to do about it then. */
type Rule = readonly [applies: boolean, result: 'FAIL' | 'warn', advice: string | undefined];

/** What a check of the doctor finds: the first rule that applies decides, and without one all is well. */
export function judged(check: string, seen: string, rules: readonly Rule[]): Finding {
  const [, result, advice] = rules.find(([applies]) => applies) ?? [];
  return result ? { check, result, detail: `${seen}: ${advice}` } : { check, result: 'ok', detail: seen };
}
