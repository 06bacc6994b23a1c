import { z } from 'zod';
import type { JsonObject } from '../../notification/json.ts';
import { faultNames } from '../deliveries/delivery-faults.ts';
import { durationSchema } from '../duration.ts';

/** Writing JSON is recursive, so what is nested deeper could not be sent. */
const DEEPEST = 500;

/** Any JSON object at all: what it says is up to the receiver. */
export const notificationSchema = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be a JSON object',
  )
  .refine((value) => isShallow(value, DEEPEST), `must not be nested deeper than ${DEEPEST} levels`);

/** How far to put the clock forward. */
export const advanceSchema = z.strictObject({ advance: durationSchema });

/** Which deliveries to show: the newest `limit` that match, older ones than `before` if that is given. */
export const deliveryQuerySchema = z.strictObject({
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
