import { hostname, userInfo } from 'node:os';
import { Command, Option } from 'commander';
import type { EventStore } from '../store/event-store.ts';
import { withDatabase } from '../store/open.ts';
import { audited } from '../store/reports/audit.ts';
import { configOf } from './options.ts';

type Work<T, A extends readonly unknown[] = []> = (...given: A) => Promise<T>;

/** Makes a change in the store, which `hookkit audit` lists with the command and who runs it. */
export function change<T>(store: EventStore, command: Command, work: Work<T>): Promise<T> {
  const { parent } = command;
  const what = parent?.parent ? `${parent.name()} ${command.name()}` : command.name();
  return audited(store, { what, filters: writtenIn(command), who: who() }, work, countOf);
}

/** The same in the database of the configuration, if that is there. @throws KitError STORE_UNUSABLE */
export const changing = <T>(command: Command, work: Work<T, [EventStore]>, config = configOf(command)) =>
  withDatabase(config, (store) => change(store, command, () => work(store)));

/** The user who runs this command, as the database notes it for people: `user@host`. A container may have a user without a name. */
export function who(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `${process.getuid?.() ?? '?'}@${hostname()}`;
  }
}

/** How many a result has changed: a count as it is, the events of a verb for many, or one. */
function countOf(done: unknown): number {
  const { events, replayed = events ?? 1 } = Object(done);
  return typeof done === 'object' ? replayed : Number(done ?? 0);
}

/** The arguments and options of a command as they were written. Files of secrets are left out, with all others that options name. */
function writtenIn(command: Command): object {
  const values = command.registeredArguments.map((one, place) => [one.name(), command.args[place]]);
  const plain = new Command(); // its options have no parsers
  for (const option of command.options) {
    if (/file$|^json$/.test(option.name())) continue;
    const gathered = (text: string, before: unknown) => (before === undefined ? text : [before, text].flat());
    plain.addOption(new Option(option.flags).argParser<unknown>(gathered));
  }
  const program = command.parent?.parent ?? command.parent;
  plain.parseOptions(Object(program).rawArgs);
  return { ...Object.fromEntries(values), ...plain.opts() };
}
