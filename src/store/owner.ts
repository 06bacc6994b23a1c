import { randomUUID } from 'node:crypto';

/**
 * The owner of leases: the name of its instance, and what tells a dispatcher from every other. An instance that crashed and
 * starts again under its name does not take the leases from before for its own.
 */
export function newOwner(instance: string): string {
  return `${instance}/${randomUUID()}`;
}

/** The name of an owner's instance; undefined where a former version leased. */
export function instanceOf(owner: string): string | undefined {
  const end = owner.lastIndexOf('/');
  return end > 0 ? owner.slice(0, end) : undefined;
}
