import { isAway } from '../../store/lists/event-json.ts';
import { Refused } from '../guard/refuse.ts';
import type { Inspected } from './endpoint.ts';

/** Holds back the handlers of all processes. @param source the address that asks for it */
export async function pauseHandling({ store }: Inspected, reason: string, source: string) {
  await store.pause({ reason, by: `admin at ${source}` });
  return { paused: true } as const;
}

/** Lets handlers go on. */
export async function resumeHandling({ store, wake }: Inspected) {
  const resumed = await store.resume();
  wake();
  return { resumed };
}

/** Forgets an instance that is gone for good. @throws Refused where it lives, or there is none */
export async function forgetInstance({ store, clock }: Inspected, name: string) {
  const instance = (await store.instances()).find((one) => one.name === name);
  if (!instance) throw new Refused(404, 'there is no such instance');
  if (!isAway(instance, clock.now()))
    throw new Refused(409, 'it was seen a moment ago: stop it, and it is gone');
  await store.leave(name);
  return { forgotten: name };
}
