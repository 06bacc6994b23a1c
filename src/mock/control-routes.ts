import { type ErrorRequestHandler, Router } from 'express';
import { z } from 'zod';
import { durationOf } from '../base/duration.ts';
import type { MockClock } from './clock.ts';
import { type Deliveries, filterSchema } from './deliveries.ts';
import { type GuardOptions, guard, jsonRoutes, parse, statusOf } from './requests.ts';
import { inputs, type Simulation } from './simulation.ts';

/** Every control route and its purpose. `hookkit mock` prints this list; a test compares docs/mock.md with it. */
export const controlCatalogue = [
  ['POST', '/_mock/media', '{"site_id", "media_id"?, "publish_at"?}: a first upload'],
  ['POST', '/_mock/media/:id/update', '{"publish_at"?}: a media is updated'],
  ['POST', '/_mock/media/:id/reupload', 'a new original for a media'],
  ['POST', '/_mock/media/:id/publish', 'its publish start is now'],
  ['DELETE', '/_mock/media/:id', 'a media is deleted'],
  ['POST', '/_mock/media/:id/thumbnails', '{"thumbnail_id"?}: a thumbnail is created'],
  ['DELETE', '/_mock/media/:id/thumbnails/:id', 'a thumbnail is deleted'],
  ['POST', '/_mock/media/:id/tracks', '{"track_id"?}: a text track is created'],
  ['DELETE', '/_mock/media/:id/tracks/:id', 'a text track is deleted'],
  ['POST', '/_mock/channels', '{"site_id", "channel_id"?}: a live channel is created'],
  ['POST', '/_mock/channels/:id/active', 'a live channel enters the active state'],
  ['POST', '/_mock/channels/:id/idle', 'a live channel enters the idle state'],
  ['POST', '/_mock/notifications', 'any payload, sent unchanged'],
  ['GET', '/_mock/deliveries', 'the deliveries, with their attempts and answers'],
  ['POST', '/_mock/deliveries/:id/redeliver', 'sends it again'],
  ['PUT', '/_mock/faults', '{"duplicate": 0.1}: probabilities of faults'],
  ['PUT', '/_mock/statuses', '{"before_4_3": true}: statuses are scheduled as before release 4.3'],
  ['GET', '/_mock/clock', 'the time on the clock'],
  ['POST', '/_mock/clock', '{"advance": "6m"}: moves the clock forward'],
  ['POST', '/_mock/reset', 'back to the start: no webhooks, media or faults'],
] as const;

/** The parts of the mock that the control routes control. */
export interface Controlled {
  readonly sites: Simulation;
  readonly deliveries: Deliveries;
  readonly clock: MockClock;
  readonly statuses: { behave(as: unknown): unknown };
  reset(): void;
  /** the names that lead to the mock */
  readonly own: GuardOptions;
}

/** The routes that control the mock, to be mounted at `/_mock`. Errors are `{"error": "..."}`. */
export function controlRoutes({ sites, deliveries, statuses, clock, reset, own }: Controlled): Router {
  const router = Router();
  router.use(guard(own, (response, error) => response.status(403).json({ error })));
  const route = jsonRoutes(router);
  route('post', '/media', 201, ({ body }) => sites.createMedia(parse(inputs.media, body)));
  route('post', '/media/:id/update', 200, ({ id, body }) =>
    sites.updateMedia(id, parse(inputs.mediaChange, body)),
  );
  route('post', '/media/:id/reupload', 200, ({ id }) => sites.reuploadMedia(id));
  route('post', '/media/:id/publish', 200, ({ id }) => sites.publishMedia(id));
  route('delete', '/media/:id', 204, ({ id }) => sites.deleteMedia(id));
  route('post', '/media/:id/thumbnails', 201, ({ id, body }) =>
    sites.createThumbnail(id, parse(inputs.thumbnail, body)),
  );
  route('delete', '/media/:id/thumbnails/:part', 204, ({ id, part }) => sites.deleteThumbnail(id, part));
  route('post', '/media/:id/tracks', 201, ({ id, body }) => sites.createTrack(id, parse(inputs.track, body)));
  route('delete', '/media/:id/tracks/:part', 204, ({ id, part }) => sites.deleteTrack(id, part));
  route('post', '/channels', 201, ({ body }) => sites.createChannel(parse(inputs.channel, body)));
  route('post', '/channels/:id/active', 200, ({ id }) => sites.activateChannel(id));
  route('post', '/channels/:id/idle', 200, ({ id }) => sites.idleChannel(id));
  route('post', '/notifications', 202, ({ body }) => ({
    deliveries: deliveries.sendNotification(parse(notificationSchema, body)),
  }));
  route('get', '/deliveries', 200, ({ query }) => {
    const { before = Number.POSITIVE_INFINITY, limit, ...filter } = parse(deliveryQuerySchema, query);
    const found = deliveries.deliveries(filter);
    const older = found.filter(({ id }) => Number(id) < before);
    return { total: found.length, deliveries: older.slice(-limit) };
  });
  route('post', '/deliveries/:id/redeliver', 202, ({ id }) => deliveries.redeliver(id));
  route('put', '/faults', 200, ({ body }) => deliveries.setFaults(body));
  route('put', '/statuses', 200, ({ body }) => statuses.behave(body));
  const time = () => ({ now: new Date(clock.now()).toISOString() });
  route('get', '/clock', 200, time);
  route('post', '/clock', 200, async ({ body }) => {
    await clock.advance(parse(advanceSchema, body).advance);
    return time();
  });
  route('post', '/reset', 204, reset);

  router.use((request, response) => {
    response.status(404).json({ error: `there is no route ${request.method} ${request.originalUrl}` });
  });
  router.use(refuse);
  return router;
}

/** Any JSON object: the receiver decides what it means. */
const notificationSchema = z.record(z.string(), z.unknown(), 'must be a JSON object');

/** How far to put the clock forward. */
const advanceSchema = z.strictObject({
  advance: z.preprocess(
    (text) => durationOf(String(text).trim()),
    z.number('must be a time such as 500ms, 30s, 6m, 2h or 1d'),
  ),
});

/** The newest `limit` that match, and only those older than the delivery `before`. */
const deliveryQuerySchema = filterSchema.extend({
  before: z.coerce.number().int().positive().optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

const refuse: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const status = statusOf(error);
  if (!(error instanceof Error) || status >= 500) return next(error);
  response.status(status === 404 ? 404 : 400).json({ error: error.message });
};
