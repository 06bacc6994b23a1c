import { messageOf } from '../../base/errors.ts';
import { type Finding, findingsOf } from '../../base/finding.ts';
import { type Config, loadSettingsOf, settingsSet } from '../../config.ts';
import { kindNames } from '../../notification/kinds.ts';
import type { Handlers } from '../handler.ts';
import { type LoadedApp, loadDefinition } from '../load-handlers.ts';

/** What loading found, and the app if it loads. */
export interface CheckedApp {
  readonly findings: readonly Finding[];
  readonly app: LoadedApp | undefined;
}

/** Loads the handlers, and reads the settings of their app: names, never values. */
export async function checkApp(config: Pick<Config, 'HANDLERS'>): Promise<CheckedApp> {
  const handlers = findingsOf('handlers');
  try {
    const app = await loadDefinition(config);
    const kinds = kindNames.filter((kind) => app.handlers[kind]);
    const loaded = handlers.ok(`they load; ${kinds.length} of ${kindNames.length} kinds have a handler`);
    return { app, findings: [loaded, ...checkSettings(app)] };
  } catch (error) {
    return { app: undefined, findings: [handlers.fail(messageOf(error))] };
  }
}

function checkSettings({ settings }: LoadedApp): Finding[] {
  if (!settings) return [];
  const finding = findingsOf('settings');
  try {
    loadSettingsOf(settings);
  } catch (error) {
    return [finding.fail(messageOf(error))];
  }
  const told = settingsSet(settings).map(({ name, isSet }) => (isSet ? name : `${name} (not set)`));
  return [finding.ok(told.length === 0 ? 'the app has none' : `no mistakes in ${told.join(', ')}`)];
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
