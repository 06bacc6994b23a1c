import { line, say } from '../cli/print.ts';
import { table } from '../cli/table.ts';
import type { Answer } from './receiver-client.ts';

/** An answer in a word: what the receiver says it did with the notification, the status, or that there was none. */
export function wordOf(answer: Answer): string {
  if (answer.status === undefined) return `failed: ${answer.error}`;
  if (answer.status !== 200) return String(answer.status);
  const status = membersOf(answer.body).status;
  return status === 'accepted' || status === 'duplicate' ? status : '200';
}

/** Why it was refused, where the answer says so. */
export function reasonOf(answer: Answer): string | undefined {
  if (answer.status === undefined || answer.status === 200) return undefined;
  const { error } = membersOf(answer.body);
  return typeof error === 'string' ? line(error) : undefined;
}

function membersOf(body: string): { readonly status?: unknown; readonly error?: unknown } {
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
}

/** Counts answers, and says so when one comes for the first time that nobody wants. */
export class Answers {
  readonly #counts = new Map<string, number>();
  #sent = 0;
  #unwanted = 0;

  /** notifications that were sent */
  get sent(): number {
    return this.#sent;
  }

  /** whether there was nothing to send */
  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  /** those that were not answered with 200, or could not be sent at all */
  get unwanted(): number {
    return this.#unwanted;
  }

  add(id: string, answer: Answer): void {
    this.#sent++;
    const word = wordOf(answer);
    if (answer.status !== 200 && !this.#counts.has(word)) {
      const reason = reasonOf(answer);
      say(`${line(word)}${reason === undefined ? '' : ` (${reason})`}: event ${id}`);
    }
    this.#count(word, answer.status !== 200);
  }

  /** One that was not sent, because of this. */
  addUnsent(why: string): void {
    this.#count(why, true);
  }

  asJson(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }

  asTable(): string {
    const rows = [...this.#counts].sort(([, a], [, b]) => b - a);
    return table(
      ['answer', 'notifications'],
      rows.map(([word, count]) => [line(word), String(count)]),
    );
  }

  #count(word: string, isUnwanted: boolean): void {
    this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1);
    if (isUnwanted) this.#unwanted++;
  }
}
