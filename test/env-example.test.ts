import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { type Config, parseConfig, variableNames } from '../src/config.ts';

const text = readFileSync(new URL('../.env.example', import.meta.url), 'utf8');
const lines = text.split('\n');
/** Without the name that each process draws. */
const { INSTANCE_NAME: _, ...fixed } = parseConfig({});
const defaults: Partial<Config> = fixed;

/** The lines that set a variable or would, were they not commented out. */
function settingsOf(name: string): RegExpExecArray[] {
  return [...text.matchAll(new RegExp(`^(# ?)?${name}=(.*)$`, 'gm'))];
}

describe('.env.example', () => {
  test.each(variableNames)('has %s, as the service reads it, exactly once and with its default', (name) => {
    const settings = settingsOf(name);
    expect(settings).toHaveLength(1);
    expect(settings[0]?.[2]).toBe(String(defaults[name] ?? ''));
  });

  test.each(variableNames)('has %s, where it has no default, commented out, and else not', (name) => {
    const isCommentedOut = settingsOf(name)[0]?.[1] !== undefined;
    expect(isCommentedOut).toBe(defaults[name] === undefined);
  });

  test.each(variableNames)('says what %s is, right above it, in a comment', (name) => {
    const index = lines.findIndex((line) => new RegExp(`^(# ?)?${name}=`).test(line));
    expect(lines[index - 1]).toMatch(/^# .{10,}/);
    expect(lines[index - 1]).not.toMatch(/^# ?[A-Z_]+=/);
  });

  test.each(variableNames.filter((name) => name.endsWith('_MS')))(
    'says, of the time %s, that it is in milliseconds',
    (name) => {
      expect(commentAbove(name)).toMatch(/milliseconds/);
    },
  );

  test('says the unit of what is measured in bytes or days', () => {
    expect(commentAbove('BODY_LIMIT')).toMatch(/bytes/);
    expect(commentAbove('RETENTION_DAYS')).toMatch(/[Dd]ays/);
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

/** The comment that ends right above a variable. */
function commentAbove(name: string): string {
  const index = lines.findIndex((line) => new RegExp(`^(# ?)?${name}=`).test(line));
  const comment: string[] = [];
  for (
    let above = index - 1;
    /^# /.test(lines[above] ?? '') && !/^# ?[A-Z_]+=/.test(lines[above] ?? '');
    above--
  ) {
    comment.unshift(lines[above] ?? '');
  }
  return comment.join('\n');
}
