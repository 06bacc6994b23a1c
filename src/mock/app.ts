import express, { type Express, type Router } from 'express';

/** The mock's routers under one roof. */
export interface Rooms {
  readonly control: Router;
  readonly webhooks: Router;
  readonly statuses: Router;
}

/** The mock's Express application. */
export function createApp({ control, webhooks, statuses }: Rooms): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag'); // the services know no conditional requests
  app.use('/_mock', control);
  app.use('/v2', webhooks);
  app.use(statuses);
  app.use((_request, response) => {
    response.status(404).json({ error: 'not found' });
  });
  return app;
}
