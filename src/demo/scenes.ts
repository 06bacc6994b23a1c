import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { jsonOf } from '../base/answer-body.ts';
import { pause, systemClock } from '../base/clock.ts';
import { wholeSeconds } from '../base/duration.ts';
import { type GlobalFlags, loadTrialConfig } from '../config.ts';
import { type DevStage, setDevStage } from '../dev/stage.ts';
import { defineHandlers, type Handlers } from '../dispatch/handler.ts';
import { type Kind, kindNames } from '../notification/kinds.ts';
import { handlers } from './handlers.ts';

export const DEMO_SITE = 'demoSite';

/** A mock provider and a receiver that talk to each other over loopback, on a database that goes when they close. */
export interface DemoStage extends DevStage {
  /** Resolves once everything sent was answered and everything recorded has come to its end. */
  settled(): Promise<void>;
}

/** @throws KitError LISTEN_FAILED if a port is taken; then nothing is left of it */
export async function setStage(flags: GlobalFlags): Promise<DemoStage> {
  await using ends = new AsyncDisposableStack();
  const remove = (path: string) => rmSync(path, { recursive: true, force: true });
  const directory = ends.adopt(mkdtempSync(join(tmpdir(), 'hookkit-demo-')), remove);
  const config = loadTrialConfig(flags, {
    HOST: '127.0.0.1',
    PORT: '0',
    MOCK_PORT: '0',
    DATABASE_URL: `sqlite:${join(directory, 'receiver.db')}`,
    RETRY_BASE_MS: '200',
    DRAIN_MS: '0',
  });
  const log = pino({ level: 'silent' });
  const app = { handlers: withStumble() };
  const stage = await setDevStage({ config, app, log, site: DEMO_SITE, processingMs: 300 });
  ends.defer(stage.stop);
  const kept = ends.move();
  return {
    ...stage,
    async settled() {
      await stage.mock.settled();
      for (;;) {
        const { pending, running } = await stage.service.store.reports.overview();
        if (pending + running === 0) return;
        await pause(systemClock, 10);
      }
    },
    stop: () => kept.disposeAsync(),
  };
}

/** The sample handlers, but the first text track's fails twice before it succeeds. */
function withStumble(): Handlers {
  let failures = 0;
  return defineHandlers({
    ...handlers,
    async track_created(event, ctx) {
      if (failures++ < 2) throw new Error('the demo makes this handler fail twice');
      return handlers.track_created?.(event, ctx);
    },
  });
}

/** A delivery, and its expected end: the answer, and the event's status and attempts. */
export interface Scene {
  readonly title: string;
  readonly deliveryId: string | undefined;
  readonly expected: readonly [answer: string, status: string, attempts: string];
}

export const HEAD = ['notification', 'answer', 'status', 'attempts', 'to ack', 'to handled', ''];

const HANDLED = ['200 accepted', 'handled', '1'] as const;

export async function playScenes(stage: DemoStage): Promise<Scene[]> {
  return [
    ...(await playAllKinds(stage)),
    await playDuplicate(stage),
    await playForgery(stage),
    ...(await playOutOfOrder(stage)),
  ];
}

/** The life of a media and of a channel, so that each of the 13 kinds is delivered at least once. */
async function playAllKinds({ mock, settled }: DemoStage): Promise<Scene[]> {
  const { media_id: id } = mock.createMedia({ site_id: DEMO_SITE });
  await settled();
  mock.updateMedia(id);
  mock.deleteThumbnail(id, mock.createThumbnail(id).thumbnail_id);
  mock.deleteTrack(id, mock.createTrack(id).track_id);
  mock.reuploadMedia(id);
  const { channel_id } = mock.createChannel({ site_id: DEMO_SITE });
  mock.activateChannel(channel_id);
  mock.idleChannel(channel_id);
  await settled();
  mock.deleteMedia(id);
  await settled();
  const deliveries = Map.groupBy(mock.deliveries(), ({ notification }) => String(notification.event));
  const kinds = new Set([...deliveries.keys(), ...kindNames]);
  return [...kinds].map((kind) => {
    const deliveryId = deliveries.get(kind)?.[0]?.id;
    if (kind !== ('track_created' satisfies Kind)) return { title: kind, deliveryId, expected: HANDLED };
    return {
      title: `${kind} (its handler fails twice)`,
      deliveryId,
      expected: ['200 accepted', 'handled', '3'],
    };
  });
}

/** A notification that comes a second time. */
async function playDuplicate({ mock, settled }: DemoStage): Promise<Scene> {
  const { id, notification } = mock.redeliver(mock.deliveries()[0]?.id ?? '');
  await settled();
  const title = `${notification.event}, delivered again`;
  return { title, deliveryId: id, expected: ['200 duplicate', 'handled', '1'] };
}

/** A notification that was signed with another secret. */
async function playForgery({ mock, settled }: DemoStage): Promise<Scene> {
  mock.setFaults({ forge: 1 });
  const [forged] = mock.sendNotification(channelEvent('channel_active', 'forgedCh', 0));
  mock.setFaults({ forge: 0 });
  await settled();
  return { title: 'channel_active, forged', deliveryId: forged?.id, expected: ['401 refused', '-', '-'] };
}

/** Two notifications of one channel, the newer first. */
async function playOutOfOrder({ mock, settled }: DemoStage): Promise<Scene[]> {
  const [idle] = mock.sendNotification(channelEvent('channel_idle', 'lateChan', 0));
  await settled();
  const [active] = mock.sendNotification(channelEvent('channel_active', 'lateChan', -300_000));
  await settled();
  const skipped = ['200 accepted', 'skipped', '1'] as const;
  return [
    { title: 'channel_idle, the newer of two, first', deliveryId: idle?.id, expected: HANDLED },
    { title: 'channel_active, the older, late', deliveryId: active?.id, expected: skipped },
  ];
}

function channelEvent(event: Kind, channel_id: string, offsetMs: number) {
  const event_time = wholeSeconds(systemClock.now() + offsetMs);
  return { event, channel_id, site_id: DEMO_SITE, event_time };
}

export async function review({ mock, service }: DemoStage, { title, deliveryId, expected }: Scene) {
  const last = mock
    .deliveries()
    .find(({ id }) => id === deliveryId)
    ?.attempts.at(-1);
  const { status = 'refused', id } = Object(jsonOf(last?.answer?.body ?? ''));
  const event = id === undefined ? undefined : await service.store.queue.event({ id });
  const answer = `${last?.answer?.status ?? 'no answer'} ${status}`;
  const result = [answer, event?.status ?? '-', String(event?.attempts ?? '-')];
  const ack = last ? `${last.duration_ms} ms` : '-';
  const handled = event?.handledAt === undefined ? '-' : `${event.handledAt - event.receivedAt} ms`;
  const asExpected = result.join() === expected.join();
  const verdict = asExpected ? 'ok' : `expected ${expected.join(', ')}`;
  return { row: [title, ...result, ack, handled, verdict], asExpected };
}
