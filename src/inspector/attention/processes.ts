import type { Snapshot } from '../api/stats.ts';
import { duration } from '../pages/words.ts';
import { type Found, since } from './concern.ts';

const PATH = './#instances';

/** Whether the processes live, and can work. */
export function processes(snapshot: Snapshot, now: number): Found {
  const { instance, instances, can_read_secrets: canRead, can_record: canRecord } = snapshot;
  // One that cannot record may live, and cannot say so.
  const away = canRecord ? instances.filter((one) => one.away && one.name !== instance) : [];
  return [
    instance === null &&
      instances.length === 0 && {
        fault: 'no_server',
        grave: true,
        text: 'No server runs on this database',
        advice: 'Nothing is received or handled: `npm start`.',
        path: PATH,
      },
    ...away.map(({ name, seen_at: at }) => ({
      fault: 'away',
      since: at,
      of: name,
      grave: true,
      text: `Instance ${name} was last seen ${duration(since(at, now))} ago`,
      advice:
        'It stands still or has crashed: look at its log, and start it again. If it is gone for good, forget it on the overview.',
      path: PATH,
    })),
    !canRead && {
      fault: 'secrets_unreadable',
      grave: true,
      text: 'The stored secrets cannot be read',
      advice:
        'Processes go on with those that they hold. If they were sealed under another key, start again with that one.',
      path: 'webhooks',
    },
  ];
}
