import type { Command } from 'commander';
import { pauseUntilAborted, systemClock } from '../base/clock.ts';
import { MOMENTS } from '../base/duration.ts';
import { KitError } from '../base/errors.ts';
import { plural } from '../base/text.ts';
import { loadDefinition } from '../dispatch/load-handlers.ts';
import { sentSlotsOf } from '../dispatch/subscribers.ts';
import type { StoreReader } from '../store/event-store.ts';
import { withDatabase, withReader } from '../store/open.ts';
import { isoOrNull } from '../store/queue/lists/event-json.ts';
import { subscriberOf } from '../store/stored.ts';
import { change } from './change.ts';
import { interruptible } from './interruptible.ts';
import { configOf, moment } from './options.ts';
import { printResult, progress, say, table } from './output.ts';
import { appOf, loadingOnly } from './with-handlers.ts';

/** Between two commits another process gets to write. */
const PAUSE_MS = 20;

/** Handlers of the app that have events of their own. */
export function addSubscribers(program: Command): void {
  const subscribers = program
    .command('subscribers')
    .description('List the subscribers of the database, give one events of the past, or remove one.');
  subscribers
    .command('list', { isDefault: true })
    .description('List each subscriber: how far it is, and which living instances have it (the default).')
    .addHelpText('after', '\nbehind: how many notifications it has not been given yet, 10,000 at most.')
    .action(list);
  subscribers
    .command('start')
    .description('Make events for a subscriber of your app from notifications of the past.')
    .argument('<name>', 'its name in `subscribers` of the app')
    .requiredOption('--since <time>', `take notifications that happened at or after ${MOMENTS}`, moment)
    .action(loadingOnly(start));
  subscribers
    .command('remove')
    .description('Remove a subscriber that no instance has any more, and dismiss its pending events.')
    .argument('<name>', 'its name, as `hookkit subscribers` lists it')
    .action(remove);
}

/** The subscribers, how far they are, and the living instances that have them. `last_seen_at`: when one had it last, within an hour. */
export async function subscribersJson({ queue, reports }: Pick<StoreReader, 'queue' | 'reports'>) {
  const [overview, lives] = await Promise.all([reports.overview(), reports.instances()]);
  const rows = (await queue.subscribers()).map(async ({ name, kinds, behind }) => {
    const { pending = 0, running = 0 } = overview.subscribers[name] ?? {};
    const dead = await queue.count({ subscriber: name, status: 'dead' });
    const having = lives.filter((one) => one.kinds.some((slot) => subscriberOf(slot) === name));
    const instances = having.flatMap((one) => (one.state === 'live' ? one.name : []));
    const last_seen_at = isoOrNull(Math.max(0, ...having.map(({ seenAt }) => seenAt)) || undefined);
    return { name, kinds, behind, pending, running, dead, instances, last_seen_at };
  });
  return Promise.all(rows);
}

async function list({ json }: { json?: true }, command: Command): Promise<void> {
  const all = await withReader(configOf(command), subscribersJson);
  const rows = all.map(({ name, kinds, behind, pending, running, dead, instances, last_seen_at: seen }) => {
    const having = instances.join(', ') || `none ${seen === null ? 'for over an hour' : `since ${seen}`}`;
    const counts = [behind, pending, running, dead].map(String);
    return [name, ...counts, having, kinds.join(', ')];
  });
  const head = ['name', 'behind', 'pending', 'running', 'dead', 'instances', 'kinds'];
  await printResult(json, all, rows.length > 0 ? table(head, rows) : 'no subscribers');
}

type StartFlags = { since: number; json?: true };

async function start(subscriber: string, { since, json }: StartFlags, command: Command): Promise<void> {
  const config = configOf(command);
  const kinds = sentSlotsOf(appOf(await loadDefinition(config, say), subscriber).handlers);
  await withDatabase(config, (store) =>
    interruptible('run it again to make the rest', async (signal) => {
      const { queue } = store;
      await queue.subscribe({ subscriber, kinds });
      const making = progress('made');
      const onStep = (ids: readonly string[]) => {
        making.step(ids);
        return pauseUntilAborted(systemClock, PAUSE_MS, signal);
      };
      const starting = change(store, command, () =>
        queue.startSubscriber(subscriber, since, { onStep, signal }),
      );
      const { events, left: pruned } = await starting.finally(making[Symbol.dispose]);
      const text = `${plural(events, 'event')} made for ${subscriber}`;
      await printResult(json, { subscriber, events, pruned }, text);
      if (pruned > 0) say(`left out, as retention has removed their bodies: ${plural(pruned, 'event')}`);
      signal.throwIfAborted();
    }),
  );
}

async function remove(subscriber: string, { json }: { json?: true }, command: Command): Promise<void> {
  await withDatabase(configOf(command), async (store) => {
    const all = await subscribersJson(store);
    const { instances: having = [], behind = 0 } = all.find(({ name }) => name === subscriber) ?? {};
    if (having.length > 0)
      throw new KitError('CHECK_FAILED', `${subscriber} runs in ${having.join(', ')}: deploy without it`);
    const dismissed = await change(store, command, () => store.queue.removeSubscriber(subscriber));
    if (dismissed === undefined) {
      const names = all.map(({ name }) => name).join(', ') || 'none';
      throw new KitError('INPUT_INVALID', `there is no subscriber ${subscriber}: this database has ${names}`);
    }
    const told = `${subscriber} removed, and ${plural(dismissed, 'pending event')} dismissed`;
    const left = behind === 0 ? '' : `; never given to it: ${plural(behind, 'notification')}`;
    await printResult(json, { subscriber, dismissed, behind }, told + left);
  });
}
