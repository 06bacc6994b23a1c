/** The result of one check. */
export interface Finding {
  readonly check: string;
  readonly result: 'ok' | 'warn' | 'FAIL' | 'skipped';
  /** the result in words and, for a problem, what to do */
  readonly detail: string;
}

/** Makes the findings of one check. */
export function findingsOf(check: string) {
  const make =
    (result: Finding['result']) =>
    (detail: string): Finding => ({ check, result, detail });
  return { ok: make('ok'), warn: make('warn'), fail: make('FAIL'), skipped: make('skipped') };
}
