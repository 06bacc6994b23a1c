import { type ErrorRequestHandler, type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { durationOf } from '../base/duration.ts';
import { visible } from '../base/visible.ts';
import type { JsonObject } from '../notification/json.ts';
import { type Faults, type FaultsChange, faultNames, faultsSchema } from './deliveries/delivery-faults.ts';
import type { Delivery, DeliveryFilter } from './deliveries/delivery-log.ts';
import { type GuardOptions, guard } from './guard.ts';
import { statusOf } from './mock-error.ts';
import { jsonBody, parse } from './request-input.ts';
import type { ThumbnailView, TrackView } from './simulation/attachments.ts';
import type { ChannelView } from './simulation/live-channels.ts';
import type { MediaView } from './simulation/media-library.ts';
import {
  type ChannelInput,
  channelSchema,
  type MediaChange,
  type MediaInput,
  mediaChangeSchema,
  mediaSchema,
  type ThumbnailInput,
  type TrackInput,
  thumbnailSchema,
  trackSchema,
} from './simulation/simulation-inputs.ts';

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
  ['GET', '/_mock/clock', 'the time on the clock'],
  ['POST', '/_mock/clock', '{"advance": "6m"}: moves the clock forward'],
  ['POST', '/_mock/reset', 'back to the start: no webhooks, media or faults'],
] as const;

/** The verbs that the control routes serve, as `MockProvider` has them. */
export interface ControlVerbs {
  createMedia(media: MediaInput): MediaView;
  updateMedia(id: string, change: MediaChange): MediaView;
  reuploadMedia(id: string): MediaView;
  publishMedia(id: string): MediaView;
  deleteMedia(id: string): void;
  createThumbnail(mediaId: string, thumbnail: ThumbnailInput): ThumbnailView;
  deleteThumbnail(mediaId: string, id: string): void;
  createTrack(mediaId: string, track: TrackInput): TrackView;
  deleteTrack(mediaId: string, id: string): void;
  createChannel(channel: ChannelInput): ChannelView;
  activateChannel(id: string): ChannelView;
  idleChannel(id: string): ChannelView;
  sendNotification(payload: JsonObject): Delivery[];
  deliveries(filter: DeliveryFilter): Delivery[];
  redeliver(id: string): Delivery;
  setFaults(change: FaultsChange): Faults;
  now(): number;
  advance(ms: number): Promise<void>;
  reset(): void;
}

/** These answers are read on a terminal, by `curl`: no text in them is obeyed there. For programs the JSON means the same. */
const answerVisibly: RequestHandler = (_request, response, next) => {
  response.json = (value) => response.type('json').send(visible(JSON.stringify(value)));
  next();
};

/** The routes that control the mock, to be mounted at `/_mock`. Errors are `{"error": "..."}`. */
export function controlRoutes(mock: ControlVerbs, own: GuardOptions): Router {
  const router = Router();
  const forbid = guard(own, (response, error) => response.status(403).json({ error }));
  router.use(answerVisibly, forbid, ...jsonBody);
  router.use(simulationRoutes(mock));

  router.post('/notifications', (request, response) => {
    const deliveries = mock.sendNotification(parse(notificationSchema, request.body));
    response.status(202).json({ deliveries });
  });
  router.get('/deliveries', (request, response) => {
    const { before = Number.POSITIVE_INFINITY, limit, ...filter } = parse(deliveryQuerySchema, request.query);
    const found = mock.deliveries(filter);
    const deliveries = found.filter(({ id }) => Number(id) < before).slice(-limit);
    response.json({ total: found.length, deliveries });
  });
  router.post('/deliveries/:id/redeliver', (request, response) => {
    response.status(202).json(mock.redeliver(request.params.id));
  });
  router.put('/faults', (request, response) => {
    response.json(mock.setFaults(parse(faultsSchema, request.body)));
  });
  router
    .route('/clock')
    .get((_request, response) => {
      response.json({ now: timeOf(mock) });
    })
    .post(async (request, response) => {
      await mock.advance(parse(advanceSchema, request.body).advance);
      response.json({ now: timeOf(mock) });
    });
  router.post('/reset', (_request, response) => {
    mock.reset();
    response.status(204).end();
  });

  router.use((request, response) => {
    response.status(404).json({ error: `there is no route ${request.method} ${request.originalUrl}` });
  });
  router.use(refuse);
  return router;
}

/** The verbs of the simulated sites, a route each. */
function simulationRoutes(mock: ControlVerbs): Router {
  const router = Router();
  router.post('/media', (request, response) => {
    response.status(201).json(mock.createMedia(parse(mediaSchema, request.body)));
  });
  router.post('/media/:id/update', (request, response) => {
    response.json(mock.updateMedia(request.params.id, parse(mediaChangeSchema, request.body ?? {})));
  });
  router.post('/media/:id/reupload', (request, response) => {
    response.json(mock.reuploadMedia(request.params.id));
  });
  router.post('/media/:id/publish', (request, response) => {
    response.json(mock.publishMedia(request.params.id));
  });
  router.delete('/media/:id', (request, response) => {
    mock.deleteMedia(request.params.id);
    response.status(204).end();
  });

  router.post('/media/:id/thumbnails', (request, response) => {
    const input = parse(thumbnailSchema, request.body ?? {});
    response.status(201).json(mock.createThumbnail(request.params.id, input));
  });
  router.delete('/media/:id/thumbnails/:thumbnail', (request, response) => {
    mock.deleteThumbnail(request.params.id, request.params.thumbnail);
    response.status(204).end();
  });
  router.post('/media/:id/tracks', (request, response) => {
    const input = parse(trackSchema, request.body ?? {});
    response.status(201).json(mock.createTrack(request.params.id, input));
  });
  router.delete('/media/:id/tracks/:track', (request, response) => {
    mock.deleteTrack(request.params.id, request.params.track);
    response.status(204).end();
  });

  router.post('/channels', (request, response) => {
    response.status(201).json(mock.createChannel(parse(channelSchema, request.body)));
  });
  router.post('/channels/:id/active', (request, response) => {
    response.json(mock.activateChannel(request.params.id));
  });
  router.post('/channels/:id/idle', (request, response) => {
    response.json(mock.idleChannel(request.params.id));
  });
  return router;
}

const durationSchema = z.string().transform((text, context) => {
  const ms = durationOf(text.trim());
  if (ms !== undefined) return ms;
  context.addIssue({ code: 'custom', message: 'must be a time such as 500ms, 30s, 6m, 2h or 1d' });
  return z.NEVER;
});

/** JSON.stringify is recursive, so a payload with more levels could not be sent. */
const DEEPEST = 500;

/** Any JSON object: the receiver decides what it means. */
const notificationSchema = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be a JSON object',
  )
  .refine((value) => isShallow(value, DEEPEST), `must not be nested deeper than ${DEEPEST} levels`);

/** How far to put the clock forward. */
const advanceSchema = z.strictObject({ advance: durationSchema });

/** Which deliveries to show: the newest `limit` that match, and only those older than the delivery `before`. */
const deliveryQuerySchema = z.strictObject({
  event: z.string().optional(),
  webhook_id: z.string().optional(),
  site_id: z.string().optional(),
  media_id: z.string().optional(),
  channel_id: z.string().optional(),
  state: z.enum(['pending', 'delivered', 'failed', 'dropped']).optional(),
  fault: z.enum(faultNames).optional(),
  before: z.coerce.number().int().positive().optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}

function timeOf(mock: ControlVerbs): string {
  return new Date(mock.now()).toISOString();
}

const refuse: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const status = statusOf(error);
  if (!(error instanceof Error) || status >= 500) return next(error);
  response.status(status === 404 || status === 409 ? status : 400).json({ error: error.message });
};
