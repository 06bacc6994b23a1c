import { messageOf } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import { type Config, settingsSet } from '../config.ts';
import { kindNames } from '../notification/kinds.ts';
import { type LoadedApp, loadDefinition, readApp } from './load-handlers.ts';

/** Loads the handlers, and reads the settings of their app: names, never values. */
export async function checkApp(
  config: Pick<Config, 'HANDLERS'>,
): Promise<{ readonly findings: readonly Finding[]; readonly loaded?: LoadedApp }> {
  const { ok, fail } = findingsOf('handlers');
  try {
    const loaded = await loadDefinition(config);
    const kinds = kindNames.filter((kind) => loaded.handlers[kind]);
    const loads = ok(`they load; ${kinds.length} of ${kindNames.length} kinds have a handler`);
    return { findings: [loads, ...checkSettings(loaded)], loaded };
  } catch (error) {
    return { findings: [fail(messageOf(error))] };
  }
}

function checkSettings(loaded: LoadedApp): Finding[] {
  if (!loaded.settings) return [];
  const { ok, fail } = findingsOf('settings');
  try {
    readApp(loaded);
    return [ok(`no mistakes in ${settingsSet(loaded.settings).join(', ') || 'them'}`)];
  } catch (error) {
    return [fail(messageOf(error))];
  }
}
