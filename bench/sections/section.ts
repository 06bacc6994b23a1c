import type { Sizes } from '../sizes.ts';

/** One part of the benchmark. */
export interface Section {
  readonly title: string;
  /** Measures, and gives what came out as markdown. */
  readonly run: (sizes: Sizes) => Promise<string>;
}
