import { within } from '../base/clock.ts';
import type { ParsedBody } from '../notification/json.ts';
import { isKind } from '../notification/kinds.ts';
import { problemIn } from '../notification/payload.ts';
import { claimsRefusal, verifyNotification } from '../notification/token.ts';
import type { Parts } from '../observer.ts';
import type { ToQuarantine } from '../store/event-store.ts';
import { toVerified } from '../store/verified.ts';
import type { Keyring } from './keyring.ts';

/** Genuine notifications have some 200 bytes; a token holds the body in base64, perhaps with more spaces. */
const LONGEST_BODY = 8192;
const LONGEST_TOKEN = 2 * LONGEST_BODY;
/** So many entries wait for their commit at most: they take some 24 MB. */
const MOST_WAITING = 1000;
/** How long losses gather before the log and the store get their number, and how long a stop waits for that. */
const COUNT_MS = 1000;
const FULL =
  'notifications for which no secret is known are lost: the quarantine is full, they come too fast for it, or the store fails';

export type Quarantine = ReturnType<typeof quarantineOf>;

/** Keeps refused notifications that may be genuine, until the right secret is known. */
export function quarantineOf({ store, clock, log, config }: Parts, keyring: Keyring) {
  const waiting = new Set<Promise<void>>();
  /** how many notifications were lost since the log last said so */
  let lost = 0;

  const count = async (): Promise<void> => {
    if (lost === 0) return;
    const n = lost;
    log.warn({ lost }, FULL);
    lost = 0;
    await store.quarantine.countLost({ n }).catch(() => {}); // the log has them
  };

  const lose = (more: number): void => {
    if (lost === 0 && more > 0) clock.after(COUNT_MS, count);
    lost += more;
  };

  const keep = async (entry: ToQuarantine, body: ParsedBody): Promise<void> => {
    try {
      lose(await store.quarantine.add(entry, config.QUARANTINE_MAX_BYTES));
      // The keyring may have found its secret meanwhile, and the run that admits had looked before this entry came.
      const keys = keyring.keysFor(entry.webhookId);
      if (!verifyNotification(entry.token, body, keys)) await store.quarantine.admit(entry.token);
    } catch {
      lose(1);
    }
  };

  return {
    /** Keeps a notification that was refused since no known secret explains its signature, if nothing else is wrong with it. */
    add({ token, body }: { readonly token: string; readonly body: ParsedBody }, source: string): void {
      const { text, value } = body;
      if (config.QUARANTINE_MAX_BYTES === 0) return; // nothing is kept
      if (token.length > LONGEST_TOKEN || Buffer.byteLength(text) > LONGEST_BODY) return;
      if (!isKind(value.event) || problemIn(value) || claimsRefusal(token, body)) return;
      if (waiting.size >= MOST_WAITING) return void lose(1);
      const kept = keep({ ...toVerified(value, text), token, source }, body);
      waiting.add(kept);
      kept.finally(() => waiting.delete(kept));
    },

    /** Waits for entries whose commit is under way, and counts the lost ones: a second at most, as the store may not answer. */
    async stop(): Promise<void> {
      await within(clock, COUNT_MS, Promise.all(waiting).then(count));
    },
  };
}
