/** A markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** A number with so many decimals; thousands are set apart. */
export function number(value: number, decimals = 0): string {
  return value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** One number as a multiple of another. */
export function ratio(value: number, of: number): string {
  return number(value / of, 2);
}

/** What a section is to reach, and what it did. */
export interface Goal {
  readonly what: string;
  readonly measured: number;
  readonly bound: number;
  readonly isReached: boolean;
  readonly decimals: number;
}

/** A figure that is to be at least so much. */
export function atLeast(what: string, measured: number, bound: number, decimals = 2): Goal {
  return { what: `${what} ≥`, measured, bound, isReached: measured >= bound, decimals };
}

/** A figure that is to be at most so much. */
export function atMost(what: string, measured: number, bound: number, decimals = 2): Goal {
  return { what: `${what} ≤`, measured, bound, isReached: measured <= bound, decimals };
}

export function goalTable(goals: readonly Goal[]): string {
  return table(
    ['goal', 'measured', ''],
    goals.map(({ what, measured, bound, isReached, decimals }) => [
      `${what} ${number(bound, decimals)}`,
      number(measured, decimals),
      isReached ? 'reached' : 'not reached',
    ]),
  );
}
