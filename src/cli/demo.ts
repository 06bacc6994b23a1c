import { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { pause } from '../base/pause.ts';
import { HEAD, playScenes, review } from '../demo/scenes.ts';
import { SITE, type Stage, setStage } from '../demo/stage.ts';
import { closeAtSignal } from '../stopping.ts';
import { line, write, writeWhileRead } from './print.ts';
import { table } from './table.ts';

/** The pause between two new media of an endless demo. */
const BEAT_MS = 2000;
/** How long its receiver and mock may take to end. */
const CLOSING_MS = 10_000;

export function demoCommand(): Command {
  return new Command('demo')
    .description(
      'Demonstrate all 13 kinds: the mock provider sends them; the receiver verifies, records and handles them.',
    )
    .option('--once', 'end after one round; exit with 0 only if every result is as expected')
    .action(demo);
}

async function demo({ once }: { once?: true }): Promise<void> {
  const stage = await setStage();
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= stage.stop();
    return closed;
  };
  if (!once) closeAtSignal({ delay: CLOSING_MS, close });
  try {
    await write(
      `mock provider  ${stage.mock.url}\nreceiver       ${stage.webhook.metadata.webhook_url}\ninspector      ${stage.service.adminUrl}\n\n`,
    );
    await playRound(stage, () => closed !== undefined);
    if (once || closed) return;
    await write(
      `\nA new media follows every two seconds until you press Ctrl-C. Watch it at ${stage.service.adminUrl}\n\n`,
    );
    for (;;) await beat(stage);
  } finally {
    await close();
  }
}

/** Shows nothing once the stage closes. @throws KitError DEMO_FAILED if a result is not as expected */
async function playRound(stage: Stage, isStopping: () => boolean): Promise<void> {
  const scenes = await playScenes(stage);
  if (isStopping()) return;
  const reviews = await Promise.all(scenes.map((scene) => review(stage, scene)));
  await write(
    table(
      HEAD,
      reviews.map(({ row }) => row),
    ),
  );
  const wrong = reviews.filter(({ asExpected }) => !asExpected).length;
  if (wrong > 0)
    throw new KitError('DEMO_FAILED', `${wrong} of ${scenes.length} results are not as expected`);
  await write(`\nAll 13 kinds were delivered, verified, recorded and handled; the forged one was refused.\n`);
}

async function beat({ mock, settled, service }: Stage): Promise<void> {
  const before = mock.deliveries().length;
  const { media_id: id } = mock.createMedia({ site_id: SITE });
  await settled();
  const fresh = mock.deliveries().slice(before);
  for (const { notification, attempts } of fresh) {
    const answer = attempts.at(-1)?.answer;
    await writeWhileRead(
      `${line(String(notification.event)).padEnd(22)} ${id}  ${answer?.status} in ${attempts.at(-1)?.duration_ms} ms\n`,
    );
  }
  await writeWhileRead(
    `${' '.repeat(22)} ${await service.store.count({ status: 'handled' })} events handled so far\n`,
  );
  await pause(systemClock, BEAT_MS);
}
