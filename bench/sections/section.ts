import type { Sizes } from '../sizes.ts';

/** Puts a file of a name beside the results, unless these are only printed. */
export type WriteFile = (name: string, content: string) => void;

/** One part of the benchmark. */
export interface Section {
  readonly title: string;
  /** Measures, and gives what came out as markdown. */
  readonly run: (sizes: Sizes, write: WriteFile) => Promise<string>;
  /** once, however many rounds are asked for */
  readonly isOneRound?: true;
}
