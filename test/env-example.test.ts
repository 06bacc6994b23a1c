import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { type Config, parseConfig, variableNames } from '../src/config.ts';

const text = readFileSync(new URL('../.env.example', import.meta.url), 'utf8');
/** Without the name that each process draws. */
const { INSTANCE_NAME: _, ...fixed } = parseConfig({});
const defaults: Partial<Config> = fixed;

describe('.env.example', () => {
  test.each(variableNames)('has %s once, with its default or commented out, below what it is', (name) => {
    const settings = [...text.matchAll(new RegExp(`^(# ?)?${name}=(.*)$`, 'gm'))];
    const expected = [defaults[name] === undefined, String(defaults[name] ?? '')];
    expect(settings.map(([, mark, value]) => [mark !== undefined, value])).toEqual([expected]);
    const above = new RegExp(`((?:^# (?![A-Z0-9_]+=).*\\n)+)(?:# ?)?${name}=`, 'm').exec(text)?.[1];
    expect(above).toMatch(/^# .{10,}/);
    if (name.endsWith('_MS')) expect(above).toMatch(/milliseconds/);
    if (name === 'BODY_LIMIT') expect(above).toMatch(/bytes/);
    if (name === 'RETENTION_DAYS') expect(above).toMatch(/[Dd]ays/);
  });

  test('has no other variables, and all in the order of the configuration, so that both can be read side by side', () => {
    const names = [...text.matchAll(/^(?:# ?)?([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name);
    expect(names).toEqual(variableNames);
  });

  test('is a valid environment, read as it is, and the same as none', () => {
    const set = [...text.matchAll(/^([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name, value]) => [name, value]);
    expect(parseConfig(Object.fromEntries(set))).toEqual(parseConfig({}));
  });
});
