import { cpus, loadavg, totalmem } from 'node:os';

/** What a section gives to the page: rows of the table of goals, and a text of its own. */
export interface Part {
  readonly goals: readonly Goal[];
  readonly text: string;
}

/** A figure with its goal, in words and numbers. */
interface Goal {
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  readonly isReached?: boolean;
}

export function atLeast(what: string, bound: number, measured: number, decimals = 0): Goal {
  const isReached = Number(measured.toFixed(decimals)) >= bound;
  return { what, goal: `≥ ${number(bound, decimals)}`, measured: number(measured, decimals), isReached };
}

export function atMost(what: string, bound: number, measured: number, decimals = 0): Goal {
  const isReached = Number(measured.toFixed(decimals)) <= bound;
  return { what, goal: `≤ ${number(bound, decimals)}`, measured: number(measured, decimals), isReached };
}

export function goalTable(goals: readonly Goal[]): string {
  const told = (isReached?: boolean) => (isReached === undefined ? '' : isReached ? 'reached' : 'missed');
  return table(
    ['', 'goal', 'measured', ''],
    goals.map(({ what, goal, measured, isReached }) => [what, goal, measured, told(isReached)]),
  );
}

/** A markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** A number with so many decimals, thousands set apart; nothing for what was not measured. */
export function number(value: number, decimals = 0): string {
  if (Number.isNaN(value)) return '';
  return value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

export function atMostRounds(rounds: number): string {
  return rounds === 1 ? 'one round' : `at most ${rounds} rounds`;
}

/** Where and when figures were taken, and how busy the machine was before. */
export function circumstances(): string {
  const cores = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const date = new Date().toISOString().slice(0, 10);
  const load = (loadavg()[0] ?? 0).toFixed(1);
  return `${cores.length} × ${cores[0]?.model.trim()}, ${memory} GiB, Node ${process.versions.node}; ${date}; load average ${load} at the start.`;
}
