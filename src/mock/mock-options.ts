import type { post } from '../base/post.ts';
import type { VirtualClock } from '../base/virtual-clock.ts';
import type { Delivery } from './deliveries.ts';

/** How to start a mock provider. Everything has a default. */
export interface MockOptions {
  /** 4010; 0 takes any that is free. */
  readonly port?: number;
  /** 127.0.0.1: only this machine can connect. */
  readonly host?: string;
  /**
   * None: further names of the mock, `HOST` or `HOST:PORT`, as behind a proxy or in a container. The control routes and
   * the webhooks API refuse every other name.
   */
  readonly names?: readonly string[];
  /**
   * None: hosts to which a `webhook_url` may lead over plain HTTP, besides those of loopback: `HOST` or `HOST:PORT`, such as a receiver in
   * another container.
   */
  readonly receiverHosts?: readonly string[];
  /** None: the machine's clock, which can be moved forward. On a VirtualClock, nothing waits in real time. */
  readonly clock?: VirtualClock;
  /** None: each run has other ids and secrets. The same seed gives the same run, with secrets that begin with `mock-`. */
  readonly seed?: number;
  /** `mock-api-secret`: the Authorization that the webhooks API accepts. */
  readonly apiSecret?: string;
  /** 2000: how long it takes to process an upload. */
  readonly processingMs?: number;
  /** 10000: how long a receiver has to answer, in real time. */
  readonly timeoutMs?: number;
  /** 10: how many attempts a delivery has. */
  readonly maxAttempts?: number;
  /** 60: requests a minute that the webhooks API takes with one credential. */
  readonly rateLimit?: number;
  /** Told of each attempt, once it is in the log. */
  readonly onAttempt?: (delivery: Delivery) => void;
  /** The network, without this: what sends the deliveries. */
  readonly poster?: { readonly post: typeof post };
}

/** The options, with a default in place of each that is not given. */
export type Settings = Required<Omit<MockOptions, 'clock' | 'seed'>>;

/** The defaults of the options. */
export const mockDefaults = {
  port: 4010,
  host: '127.0.0.1',
  names: [],
  receiverHosts: [],
  apiSecret: 'mock-api-secret',
  processingMs: 2000,
  timeoutMs: 10_000,
  maxAttempts: 10,
  rateLimit: 60,
} as const satisfies MockOptions;
