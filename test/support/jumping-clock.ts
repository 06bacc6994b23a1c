import { VirtualClock } from '../../src/base/virtual-clock.ts';

/** A clock that jumps ahead as soon as anything waits for it, so that nothing waits in real time. Not for what polls. */
export class JumpingClock extends VirtualClock {
  override after(ms: number, fn: () => unknown): () => void {
    const cancel = super.after(ms, fn);
    setImmediate(() => this.advance(ms));
    return cancel;
  }
}
