import { systemClock } from '../base/clock.ts';
import { wholeSeconds } from '../base/duration.ts';
import type { Kind } from '../notification/kinds.ts';
import { SITE, type Stage } from './stage.ts';

/** The expected result of one delivery. */
export interface Scene {
  readonly title: string;
  readonly deliveryId: string;
  readonly answer: '200 accepted' | '200 duplicate' | '401 refused';
  /** the event's status; undefined where nothing may be recorded */
  readonly status: 'handled' | 'skipped' | undefined;
  readonly attempts: number;
}

/** The life of a media and of a channel, so that each of the 13 kinds is delivered at least once. */
export async function playAllKinds({ mock, settled }: Stage): Promise<Scene[]> {
  const { media_id: id } = mock.createMedia({ site_id: SITE });
  await settled();
  mock.updateMedia(id);
  mock.deleteThumbnail(id, mock.createThumbnail(id).thumbnail_id);
  mock.deleteTrack(id, mock.createTrack(id).track_id);
  mock.reuploadMedia(id);
  const channel = mock.createChannel({ site_id: SITE });
  mock.activateChannel(channel.channel_id);
  mock.idleChannel(channel.channel_id);
  await settled();
  mock.deleteMedia(id);
  await settled();
  const seen = new Set<unknown>();
  return mock
    .deliveries()
    .filter(({ notification: { event } }) => !seen.has(event) && seen.add(event))
    .map(({ id: deliveryId, notification: { event } }) => {
      const stumbles = event === ('track_created' satisfies Kind);
      return {
        title: stumbles ? `${event} (its handler fails twice)` : String(event),
        deliveryId,
        answer: '200 accepted',
        status: 'handled',
        attempts: stumbles ? 3 : 1,
      };
    });
}

/** A notification that comes a second time. */
export async function playDuplicate({ mock, settled }: Stage): Promise<Scene[]> {
  const first = mock.deliveries()[0];
  if (!first) throw new Error('no delivery can be repeated: nothing was delivered');
  const { id } = mock.redeliver(first.id);
  await settled();
  const title = `${first.notification.event}, delivered again`;
  return [{ title, deliveryId: id, answer: '200 duplicate', status: 'handled', attempts: 1 }];
}

/** A notification that was signed with another secret. */
export async function playForgery({ mock, settled }: Stage): Promise<Scene[]> {
  mock.setFaults({ forge: 1 });
  const [delivery] = mock.sendNotification(channelEvent('channel_active', 'forgedCh', 0));
  mock.setFaults({ forge: 0 });
  await settled();
  const deliveryId = delivery?.id ?? '';
  return [
    { title: 'channel_active, forged', deliveryId, answer: '401 refused', status: undefined, attempts: 0 },
  ];
}

/** Two notifications of one channel, the newer first. */
export async function playOutOfOrder({ mock, settled }: Stage): Promise<Scene[]> {
  const [idle] = mock.sendNotification(channelEvent('channel_idle', 'lateChan', 0));
  await settled();
  const [active] = mock.sendNotification(channelEvent('channel_active', 'lateChan', -300_000));
  await settled();
  const scene = { answer: '200 accepted', attempts: 1 } as const;
  return [
    {
      ...scene,
      title: 'channel_idle, the newer of two, first',
      deliveryId: idle?.id ?? '',
      status: 'handled',
    },
    { ...scene, title: 'channel_active, the older, late', deliveryId: active?.id ?? '', status: 'skipped' },
  ];
}

function channelEvent(event: Kind, channel_id: string, offsetMs: number) {
  const event_time = wholeSeconds(systemClock.now() + offsetMs);
  return { event, channel_id, site_id: SITE, event_time };
}
