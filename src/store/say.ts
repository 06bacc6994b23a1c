import { visible } from '../base/visible.ts';

/** For people, on stderr: where to log is not known yet when a store is opened. */
export function say(text: string): void {
  process.stderr.write(visible(`${text}\n`));
}
