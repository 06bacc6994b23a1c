import type { RequestListener } from 'node:http';
import type { Config } from '../config.ts';
import { createReceiver, type ReceiverOptions } from './app.ts';

type Needs = Pick<
  ReceiverOptions,
  'store' | 'keyring' | 'clock' | 'log' | 'observer' | 'onQuarantineLost' | 'isDraining'
>;

/** The public app with the settings of the configuration. */
export function configuredReceiver(config: Config, needs: Needs): RequestListener {
  return createReceiver({
    ...needs,
    webhookPath: config.WEBHOOK_PATH,
    bodyLimit: config.BODY_LIMIT,
    rejectLimit: config.REJECT_LIMIT,
    quarantineMaxBytes: config.QUARANTINE_MAX_BYTES,
    maxWaitingAcks: config.MAX_WAITING_ACKS,
    trustProxy: config.TRUST_PROXY,
  });
}
