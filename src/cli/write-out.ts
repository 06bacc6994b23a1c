import { type WriteLines, writeWholeFile } from '../replay/whole-file.ts';
import { writeWhileRead } from './print.ts';
import { pathOf } from './terminal.ts';

/** What `--out` names; undefined: stdout. */
export function outFile(given: string | undefined): string | undefined {
  return given === '-' ? undefined : given;
}

/**
 * Has lines written to the file that `--out` names, or to stdout without one. The file appears once all are written.
 * @throws NobodyReads if stdout is closed; KitError OUTPUT_FAILED if the file cannot be written
 */
export function writeOut<T>(out: string | undefined, work: (write: WriteLines) => Promise<T>): Promise<T> {
  if (out === undefined) return work(writeWhileRead);
  return writeWholeFile(pathOf(out), work);
}
