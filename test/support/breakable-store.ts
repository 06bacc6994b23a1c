import type { EventStore } from '../../src/store/event-store.ts';

/** Makes stores whose calls fail while a test wants them to. */
export class Breakable {
  /** with what every call but `close` fails; undefined while the store works */
  failure: Error | undefined;

  readonly wrap = (store: EventStore): EventStore => {
    const wrapped = <T extends object>(subject: T): T =>
      new Proxy(subject, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name, target);
          if (typeof member !== 'function') return member;
          return (...given: readonly unknown[]) =>
            this.failure ? Promise.reject(this.failure) : Reflect.apply(member, target, given);
        },
      });
    const { queue, quarantine, secrets, reports, size } = store;
    return {
      ...store,
      queue: wrapped(queue),
      quarantine: wrapped(quarantine),
      secrets: wrapped(secrets),
      reports: wrapped(reports),
      size: wrapped(size),
    };
  };
}
