import { size } from './sizes.ts';

/** Whether a store has threads of its own where they are beside the point: to start two takes longer than most tests. */
export const OWN_THREADS = size<boolean>({ small: false, full: true });
