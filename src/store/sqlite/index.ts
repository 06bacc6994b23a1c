import { sqlitePathOf } from '../../base/url.ts';
import type { EngineModule } from '../engine.ts';
import { keyPathOf } from '../key-file.ts';
import { checkSqlite } from './check.ts';
import { IN_MEMORY, openRaw } from './connection.ts';
import { openSqlite } from './engine.ts';

const pathOf = (url: string) => sqlitePathOf(url) ?? '';

export const sqliteEngine: EngineModule = {
  openEngine: (options) => openSqlite(pathOf(options.url), options),
  keySourceOf: (url) => (pathOf(url) === IN_MEMORY ? Buffer.alloc(32) : keyPathOf(pathOf(url))),
  check: ({ url, secretsKey }) => checkSqlite(pathOf(url), secretsKey),
  openRaw: (url) => openRaw(pathOf(url)),
};
