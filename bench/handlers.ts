import { kindNames } from '../src/notification/kinds.ts';

/** Handlers of every kind that do nothing, for HANDLERS. */
export const handlers = Object.fromEntries([...kindNames, 'unknown'].map((kind) => [kind, () => {}]));
