import { defineApp } from '../src/index.ts';
import { kindNames } from '../src/notification/kinds.ts';

/** Of every kind, and do nothing. */
const handlers = Object.fromEntries([...kindNames, 'unknown'].map((kind) => [kind, () => {}]));
const subscriber = (_: unknown, index: number) => [`subscriber-${index}`, { handlers }] as const;

/** For HANDLERS, with as many subscribers as SUBSCRIBERS says. */
export const app = defineApp({
  handlers,
  subscribers: Object.fromEntries(Array.from({ length: Number(process.env.SUBSCRIBERS) }, subscriber)),
});
