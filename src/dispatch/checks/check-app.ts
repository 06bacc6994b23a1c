import type { Logger } from 'pino';
import { messageOf } from '../../base/errors.ts';
import { type Finding, findingsOf } from '../../base/finding.ts';
import { type Config, settingsSet } from '../../config.ts';
import { kindNames } from '../../notification/kinds.ts';
import type { Handlers } from '../handler.ts';
import { type LoadedApp, loadDefinition, readApp } from '../load-handlers.ts';
import type { ReadyApp } from '../open-app.ts';

/** What loading found. */
export interface CheckedApp {
  readonly findings: readonly Finding[];
  /** the app, if it loads */
  readonly loaded?: LoadedApp;
  /** the app, if its settings have no mistakes either */
  readonly ready?: ReadyApp;
}

/** Loads the handlers, and reads the settings of their app: names, never values. */
export async function checkApp(
  config: Pick<Config, 'HANDLERS'>,
  log: Pick<Logger, 'warn'>,
): Promise<CheckedApp> {
  const handlers = findingsOf('handlers');
  try {
    const loaded = await loadDefinition(config, log);
    const kinds = kindNames.filter((kind) => loaded.handlers[kind]);
    const finding = handlers.ok(`they load; ${kinds.length} of ${kindNames.length} kinds have a handler`);
    return checkSettings(loaded, finding);
  } catch (error) {
    return { findings: [handlers.fail(messageOf(error))] };
  }
}

function checkSettings(loaded: LoadedApp, before: Finding): CheckedApp {
  const { settings } = loaded;
  const finding = findingsOf('settings');
  try {
    const ready = readApp(loaded);
    if (!settings) return { findings: [before], loaded, ready };
    const told = settingsSet(settings).map(({ name, isSet }) => (isSet ? name : `${name} (not set)`));
    const words = told.length === 0 ? 'the app has none' : `no mistakes in ${told.join(', ')}`;
    return { findings: [before, finding.ok(words)], loaded, ready };
  } catch (error) {
    return { findings: [before, finding.fail(messageOf(error))], loaded };
  }
}

/**
 * Whether every kind has a handler: one that only skips says that this is on purpose.
 * @param isStrict fails where one has none, which only warns otherwise: its events end as skipped
 */
export function checkKinds(handlers: Handlers, isStrict: boolean): Finding {
  const finding = findingsOf('kinds');
  const missing = kindNames.filter((kind) => !handlers[kind]);
  if (missing.length === 0) return finding.ok('every kind has a handler');
  return finding[isStrict ? 'fail' : 'warn'](
    `no handler for ${missing.join(', ')}. What you do not need, skip on purpose: ${missing[0]}: () => skip('not needed here')`,
  );
}
