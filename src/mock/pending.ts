/** Counts uploads and deliveries that have begun and not ended, and reports when none is left. */
export class Pending {
  #count = 0;
  #waiting: (() => void)[] = [];

  get isAny(): boolean {
    return this.#count > 0;
  }

  begin(): void {
    this.#count++;
  }

  end(): void {
    this.#count--;
    this.#wake();
  }

  clear(): void {
    this.#count = 0;
    this.#wake();
  }

  /** Resolves once the count is nought. */
  async none(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    if (this.#count > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
