import { parseEnv } from 'node:util';
import { fileNames, type GlobalFlags, quotedAmong, variableNames, variablesOfFile } from './config.ts';
import type { DefinedApp } from './dispatch/handler.ts';

/** The name that differs from another one by one letter too many, too few, wrong, or in the wrong place; undefined if none does. */
function similarTo(written: string, names: readonly string[]): string | undefined {
  const without = (name: string) => Array.from(name, (_, at) => name.slice(0, at) + name.slice(at + 1));
  const near = new Set([written, ...without(written)]);
  return names.find((name) => name.length > 4 && [name, ...without(name)].some((part) => near.has(part)));
}

/** Settings that may be mistakes, a sentence each: with the names of variables, and never with values. */
export function doubtsOf(flags: GlobalFlags, app: DefinedApp | undefined): string[] {
  const known = [...variableNames, ...fileNames, ...Object.keys(app?.settings?.shape ?? {})];
  const values = variablesOfFile(flags);
  const whole = variablesOfFile(flags, (text) => parseEnv(text.replaceAll(/(?<=\S)#/g, '_')));
  const misspelt = Object.keys(values).flatMap((name) => {
    const meant = known.includes(name) ? undefined : similarTo(name, known);
    return meant === undefined ? [] : `${name} is set, but nothing reads it: is ${meant} meant?`;
  });
  const isCut = (name: string) => (whole[name] ?? '').length > (values[name] ?? '').length;
  const cut = Object.keys(values).filter(isCut);
  return [
    ...misspelt,
    ...cut.map((name) => `the value of ${name} ends before its #: put it in quotes in the file of settings`),
    ...quotedAmong(known).map((name) => `the quotes around the value of ${name} count as a part of it`),
  ];
}
