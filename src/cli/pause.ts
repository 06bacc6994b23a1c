import type { Command } from 'commander';
import { changing, who } from './change.ts';
import { print } from './output.ts';

/** Holding back the handlers of all processes, and letting them go on. */
export function addPause(program: Command): void {
  program
    .command('pause')
    .description('Pause handling: no process starts a handler. Notifications are recorded as ever.')
    .requiredOption('--reason <text>', 'why: the overview, the metrics and the doctor show it')
    .action(pause);
}

export function addResume(program: Command): void {
  program.command('resume').description('Resume handling after a pause.').action(resume);
}

async function pause({ reason }: { readonly reason: string }, command: Command): Promise<void> {
  await changing(command, ({ queue }) => queue.pause({ reason, by: who() }).then(() => 1));
  await print('handling is paused: running handlers end, and no other one starts before npx hookkit resume');
}

async function resume(_: object, command: Command): Promise<void> {
  const wasPaused = await changing(command, ({ queue }) => queue.resume());
  await print(wasPaused ? 'handling goes on within two seconds' : 'handling was not paused');
}
