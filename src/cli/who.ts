import { hostname, userInfo } from 'node:os';

/** Who runs this command, as the database notes it for people: `user@host`. A container may have a user without a name. */
export function who(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `${process.getuid?.() ?? '?'}@${hostname()}`;
  }
}
