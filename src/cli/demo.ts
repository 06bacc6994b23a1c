import type { Command } from 'commander';
import { pause, systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { plural } from '../base/text.ts';
import { DEMO_SITE, type DemoStage, HEAD, playScenes, review, setStage } from '../demo/scenes.ts';
import { closeAtSignal } from '../stopping.ts';
import { line, members, print, table } from './output.ts';

/** The pause between two new media of an endless demo. */
const BEAT_MS = 2000;
/** How long its receiver and mock may take to end. */
const CLOSING_MS = 10_000;

export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('Demonstrate all 13 kinds: the mock provider sends them, and the receiver handles them.')
    .option('--once', 'end after one round; exit with 0 only if every result is as expected')
    .action(demo);
}

async function demo({ once }: { once?: true }, command: Command): Promise<void> {
  const stage = await setStage(command.optsWithGlobals());
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= stage.stop());
  if (!once) closeAtSignal({ delay: CLOSING_MS, close });
  try {
    const { mock, webhook, service } = stage;
    const { webhook_url } = webhook.metadata;
    const addresses = { 'mock provider': mock.url, receiver: webhook_url, inspector: service.adminUrl };
    await print(members(addresses));
    await playRound(stage, () => closed !== undefined);
    if (once || closed) return;
    await print(`\nA new media follows every two seconds until Ctrl-C. Watch it at ${service.adminUrl}\n`);
    for (;;) await beat(stage);
  } finally {
    await close();
  }
}

/** Shows nothing once the stage closes. @throws KitError CHECK_FAILED if a result is not as expected */
async function playRound(stage: DemoStage, isStopping: () => boolean): Promise<void> {
  const scenes = await playScenes(stage);
  if (isStopping()) return;
  const reviews = await Promise.all(scenes.map((scene) => review(stage, scene)));
  const rows = reviews.map(({ row }) => row);
  await print(table(HEAD, rows));
  const wrong = reviews.filter(({ asExpected }) => !asExpected).length;
  if (wrong > 0)
    throw new KitError('CHECK_FAILED', `${plural(wrong, 'result is', 'results are')} not as expected`);
  await print('\nAll 13 kinds were delivered, verified, recorded and handled; the forged one was refused.');
}

async function beat({ mock, settled }: DemoStage): Promise<void> {
  const before = mock.deliveries().length;
  const { media_id: id } = mock.createMedia({ site_id: DEMO_SITE });
  await settled();
  for (const { notification, attempts } of mock.deliveries().slice(before)) {
    const { answer, duration_ms: ms } = attempts.at(-1) ?? {};
    await print(`${line(String(notification.event)).padEnd(22)} ${id}  ${answer?.status} in ${ms} ms`);
  }
  await pause(systemClock, BEAT_MS);
}
