import { Argument, InvalidArgumentError } from 'commander';
import { isResource } from '../../store/filters.ts';

/** The argument of commands that take one resource. */
export function resourceArgument(): Argument {
  return new Argument('<resource>', 'media:ID or channel:ID, as `hookkit events list` shows it').argParser(
    resource,
  );
}

/** Events that belong to no media or channel have a resource of their own, `event:ID`. */
function resource(text: string): string {
  if (isResource(text)) return text;
  throw new InvalidArgumentError('It must be media:ID or channel:ID.');
}
