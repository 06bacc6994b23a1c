import { Router } from 'express';
import type { MockProvider } from '../mock-provider.ts';
import { parse } from '../parse.ts';
import {
  channelSchema,
  mediaChangeSchema,
  mediaSchema,
  thumbnailSchema,
  trackSchema,
} from '../simulation/simulation-inputs.ts';

/** What happens on the simulated sites: a route for each verb. */
export function simulationRoutes(mock: MockProvider): Router {
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
