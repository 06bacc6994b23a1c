import type { Command } from 'commander';
import { addCheck } from './check.ts';
import { addDismiss } from './dismiss.ts';
import { addExport } from './export.ts';
import { addImport } from './import.ts';
import { addListAndShow } from './list-and-show.ts';
import { addPrune } from './prune.ts';
import { addReplay } from './replay.ts';
import { addSend } from './send.ts';

export function addEvents(program: Command): void {
  const events = program
    .command('events')
    .description('List, replay, check, dismiss, prune, export, import and send events.');
  for (const add of [addListAndShow, addExport, addImport, addReplay, addDismiss, addSend, addPrune])
    add(events);
  addCheck(events);
}
