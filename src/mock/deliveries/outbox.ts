/** Sends one after the other in each lane, and the lanes side by side. */
export class Outbox {
  readonly #lanes = new Map<string, Promise<void>>();

  /** @param send must not reject */
  push(lane: string, send: () => Promise<void>): void {
    const sent = (this.#lanes.get(lane) ?? Promise.resolve()).then(send);
    this.#lanes.set(lane, sent);
    void sent.then(() => {
      if (this.#lanes.get(lane) === sent) this.#lanes.delete(lane);
    });
  }

  /** Resolves once nothing is being sent or waits for its turn; undefined where that is so already. */
  idle(): Promise<void> | undefined {
    return this.#lanes.size === 0 ? undefined : this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#lanes.size > 0) await Promise.all(this.#lanes.values());
  }
}
