import type { Command, Option } from 'commander';

/** An empty description is none. */
const MAY_BE_EMPTY: readonly (string | undefined)[] = ['--description'];

/** Makes a command refuse what is a mistake, and commander takes: an empty value, as of a variable that is not set, and a second one. */
export function makeStrict(command: Command): void {
  for (const option of command.options) if (option.required) takeOnce(command, option);
  command.hook('preAction', (_, { args, registeredArguments }) => {
    const empty = registeredArguments.find((_argument, index) => args[index] === '');
    if (empty) command.error(`error: argument '${empty.name()}' is invalid. It must not be empty.`);
  });
}

/** An option that may be repeated has a list as its value. */
function takeOnce(command: Command, option: Option): void {
  let isGiven = false;
  command.on(`option:${option.name()}`, (value: string) => {
    if (value === '' && !MAY_BE_EMPTY.includes(option.long))
      command.error(`error: option '${option.flags}' argument '' is invalid. It must not be empty.`);
    if (isGiven && !Array.isArray(command.getOptionValue(option.attributeName())))
      command.error(`error: option '${option.flags}' is given twice. Give it once.`);
    isGiven = true;
  });
}
