import type { KeyObject } from 'node:crypto';
import { pauseUntilAborted, systemClock, within } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Config } from '../config.ts';
import { type ParsedBody, parseBody } from '../notification/json.ts';
import { isKind } from '../notification/kinds.ts';
import { problemIn } from '../notification/payload.ts';
import { claimsRefusal, verifyNotification } from '../notification/token.ts';
import type { Parts } from '../observer.ts';
import type { EventStore, Quarantined, ToQuarantine } from '../store/event-store.ts';
import { toVerified } from '../store/stored.ts';
import { type Keyring, keyringOf } from './keyring.ts';

/** Genuine notifications have some 200 bytes; a token holds the body in base64, perhaps with more spaces. */
const LONGEST_BODY = 8192;
const LONGEST_TOKEN = 2 * LONGEST_BODY;
/** How many entries wait for their commit at most: they take some 24 MB. */
const MOST_WAITING = 1000;
/** How long losses gather before the log and the store get their number, and how long a stop waits for that. */
const COUNT_MS = 1000;
/** How many entries are read, verified and recorded in one step. Between two steps the process answers requests. */
const PAGE = 50;
/** How soon a service notices keys that it has not tried yet, and tries an admission again that failed. */
const LOOK_MS = 1000;
const FULL =
  'notifications for which no secret is known are lost: the quarantine is full, they come too fast for it, or the store fails';

export type Quarantine = ReturnType<typeof quarantineOf>;

/** Keeps refused notifications that may be genuine, until the right secret is known. */
export function quarantineOf({ store, clock, log, config }: Parts, keyring: Keyring) {
  const { admitOne } = admissionsOf(store, keyring);
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

  const keep = async (entry: ToQuarantine): Promise<void> => {
    try {
      lose(await store.quarantine.add(entry, config.QUARANTINE_MAX_BYTES));
      // The keyring may have found its secret meanwhile, and the run that admits had looked before this entry came.
      await admitOne(entry);
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
      const kept = keep({ ...toVerified(value, text), token, source });
      waiting.add(kept);
      kept.finally(() => waiting.delete(kept));
    },

    /** Waits for entries whose commit is under way, and counts the lost ones: a second at most, as the store may not answer. */
    async stop(): Promise<void> {
      await within(clock, COUNT_MS, Promise.all(waiting).then(count));
    },
  };
}

/** Admits entries that a key of their webhook verifies now. */
export function admissionsOf(store: EventStore, keyring: Keyring) {
  /** Admits an entry, if it is verified. @returns whether this process did */
  const admitOne = async ({ webhookId, token, body }: ToQuarantine): Promise<boolean> => {
    const refusal = verifyNotification(token, parseBody(Buffer.from(body)), keyring.keysFor(webhookId));
    return !refusal && (await store.quarantine.admit(token)) !== undefined;
  };
  return {
    admitOne,

    /**
     * Admits from all that is kept. It commits a page at a time: after an interruption, the next run goes on from there.
     * @param webhook only notifications that name it
     * @param signal ends it after the page under way
     * @returns how many this process admitted
     */
    async admit(webhook?: string, signal?: AbortSignal): Promise<number> {
      let admitted = 0;
      for (let after: number | undefined = 0; after !== undefined && !signal?.aborted; ) {
        const page: readonly Quarantined[] = await store.quarantine.entries({ webhook, after, limit: PAGE });
        const tried = await Promise.all(page.map(admitOne));
        admitted += tried.filter(Boolean).length;
        after = page.at(-1)?.seq;
      }
      return admitted;
    },
  };
}

/**
 * Admits from quarantine with the secrets that are stored now: for a command, which has no keyring of its own.
 * @param webhook only notifications that name this webhook
 * @returns how many were admitted
 */
export async function admitWaiting(store: EventStore, config: Config, webhook?: string) {
  const keyring = keyringOf({ store, clock: systemClock, config, log: { error() {} } });
  await keyring.refresh();
  return admissionsOf(store, keyring).admit(webhook);
}

/**
 * Admits from quarantine while the service runs, whenever a webhook has a key that was not tried yet: at first, all of them.
 * @returns a function that ends it, and resolves once no page is under way
 */
export function keepAdmitting({ store, clock, log }: Parts, keyring: Keyring): () => Promise<void> {
  const { admit } = admissionsOf(store, keyring);
  const tried = new Map<string | undefined, readonly KeyObject[]>();
  const over = new AbortController();
  const look = async (): Promise<void> => {
    for (const webhook of keyring.webhooks()) {
      const keys = keyring.keysFor(webhook);
      const isTried = keys.every((key) => tried.get(webhook)?.includes(key));
      const admitted = isTried ? 0 : await admit(webhook, over.signal);
      if (admitted > 0) log.info({ admitted }, 'notifications admitted from quarantine');
      tried.set(webhook, keys);
    }
  };
  const failed = (error: unknown) =>
    log.error({ error: messageOf(error) }, 'cannot admit from quarantine; trying again');
  const run = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await look().catch(failed);
      await pauseUntilAborted(clock, LOOK_MS, over.signal);
    }
  };
  const ended = run();
  return () => {
    over.abort();
    return ended;
  };
}
