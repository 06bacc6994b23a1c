import { z } from 'zod';
import { defineApp } from '../../src/index.ts';

/** An app whose settings are not there, unless a test sets them. */
export const app = defineApp({
  settings: z.object({
    CRM_URL: z.url(),
    CRM_TOKEN: z.string().min(16),
    CRM_PAGE_SIZE: z.coerce.number().int().default(100),
  }),
  start: ({ settings, log }) => ({
    app: { size: settings.CRM_PAGE_SIZE },
    close: () => log.info('the CRM is closed'),
  }),
  handlers: {
    media_created: (event, ctx) =>
      ctx.log.info({ media: event.media_id, size: ctx.app.size }, 'a media for the CRM'),
  },
});
