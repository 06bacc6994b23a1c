import { KitError } from '../../base/errors.ts';
import type { EngineModule } from '../engine.ts';
import { checkServer } from './check.ts';
import { openPostgres } from './engine.ts';
import { openRaw } from './raw.ts';

const NO_KEY =
  'SECRETS_KEY is not set, and with PostgreSQL it must be, the same for all processes: give it that of the others, or make the first one with "openssl rand -base64 32"';

export const postgresEngine: EngineModule = {
  openEngine: openPostgres,
  keySourceOf() {
    throw new KitError('CONFIG_INVALID', NO_KEY);
  },
  check: checkServer,
  openRaw,
};
