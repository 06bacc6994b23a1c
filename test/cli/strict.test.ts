import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** An option with a value, as the help of its command shows it. */
interface Shown {
  readonly command: readonly string[];
  readonly long: string;
  readonly flags: string;
  readonly isList: boolean;
}

let directory: string;
let options: readonly Shown[];
/** The commands that take arguments. */
let taking: readonly (readonly string[])[];

const run = (args: readonly string[]) =>
  runCli(args, { cwd: directory, env: { DATABASE_URL: 'sqlite:./none.db' } });

beforeAll(async () => {
  directory = await temporaryDirectory();
  const commands = await commandsBelow([]);
  options = commands.flatMap(({ command, help }) => optionsIn(command, help));
  taking = commands.filter(({ help }) => /^Arguments:$/m.test(help)).map(({ command }) => command);
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Every command with its help: those that only hold others, too. */
async function commandsBelow(
  command: readonly string[],
): Promise<{ command: readonly string[]; help: string }[]> {
  const { stdout: help } = await run([...command, '--help']);
  const names = [...(help.split(/^Commands:$/m)[1] ?? '').matchAll(/^ {2}([a-z]+)/gm)].map(
    ([, name = '']) => name,
  );
  const inner = await Promise.all(
    names.filter((name) => name !== 'help').map((name) => commandsBelow([...command, name])),
  );
  return [{ command, help }, ...inner.flat()];
}

function optionsIn(command: readonly string[], help: string): Shown[] {
  const shown = (help.split(/^Options:$/m)[1] ?? '').split(/^\S/m)[0] ?? '';
  return shown.split(/^ {2}(?=-)/m).flatMap((text) => {
    const [, flags, long] = /^((--[a-z-]+) <[^>]+>)/.exec(text) ?? [];
    if (flags === undefined || long === undefined) return [];
    return [{ command, flags, long, isList: flags.endsWith('...>') || /may\s+be\s+repeated/.test(text) }];
  });
}

/** One of them is right for any option. */
const VALUES = [
  'x',
  '1',
  '0.5',
  '1h',
  'media_created',
  'media:x',
  'http://127.0.0.1/x',
  'handled',
  'dead',
  'forged',
  'loyw3uqg-0123456789abcdef0123',
];

/** What the command says to these values of the option. It does nothing, as no command has an option --nonsense. */
async function saidTo({ command, long }: Shown, values: readonly string[]): Promise<string> {
  const { code, stderr } = await run([...command, ...values.flatMap((value) => [long, value]), '--nonsense']);
  expect(code).toBe(2);
  return stderr;
}

async function rightValue(option: Shown): Promise<string> {
  for (const value of VALUES) if (!/ is invalid/.test(await saidTo(option, [value]))) return value;
  throw new Error(`no value of the list is right for ${option.command.join(' ')} ${option.long}`);
}

const nameOf = ({ command, flags }: Shown) => [...command, flags].join(' ');

describe('every option of every command', () => {
  test('is refused and named, when it is given twice and takes one value; others take both', async () => {
    expect(options.length).toBeGreaterThan(80);
    for (const option of options) {
      const value = await rightValue(option);
      const twice = (await saidTo(option, [value, value])).includes(
        `error: option '${option.flags}' is given twice. Give it once.`,
      );
      expect({ option: nameOf(option), twice }).toEqual({ option: nameOf(option), twice: !option.isList });
    }
    expect(new Set(options.filter(({ isList }) => isList).map(({ long }) => long))).toEqual(
      new Set(['--kind', '--id', '--site', '--event', '--url', '--name']),
    );
  });

  test('is refused and named, when its value is empty, but for a description', async () => {
    for (const option of options) {
      const said = await saidTo(option, ['']);
      const isRefused = said.includes(`error: option '${option.flags}' argument '' is invalid.`);
      expect({ option: nameOf(option), isRefused }).toEqual({
        option: nameOf(option),
        isRefused: option.long !== '--description',
      });
    }
  });
});

test('every argument of every command is refused and named, when it is empty', async () => {
  expect(taking.length).toBeGreaterThan(8);
  for (const command of taking) {
    const { code, stderr } = await run([...command, '', ...(command.includes('compare') ? [''] : [])]);
    expect({ command, code, stderr }).toEqual({
      command,
      code: 2,
      stderr: expect.stringMatching(/^error: (command-)?argument .*is invalid.*\. It must /m),
    });
  }
});
