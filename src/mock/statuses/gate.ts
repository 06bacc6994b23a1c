import type { Request, RequestHandler } from 'express';
import type { Clock } from '../../base/clock.ts';
import type { Token } from './accounts.ts';
import { authorize, type Caller, requireScope, type Scope, tokenOf } from './authorization.ts';
import { RateLimit } from './rate-limit.ts';

/** Who may pass, and how often. */
export class Gate {
  readonly #tokens: ReadonlyMap<string, Token>;
  readonly #clock: Clock;
  readonly #rateLimit: RateLimit;

  constructor(tokens: readonly Token[], clock: Clock) {
    this.#tokens = new Map(tokens.map((token) => [token.token, token]));
    this.#clock = clock;
    this.#rateLimit = new RateLimit(clock);
  }

  /** Counts the request and puts onto its answer what every answer carries. */
  readonly count: RequestHandler = (request, response, next) => {
    const account = this.#token(request)?.account;
    const key = account === undefined ? `address ${request.ip}` : `account ${account.id}`;
    // Clients reckon the reset from the answer's date, and the time of the mock is its clock's.
    response.set('Date', new Date(this.#clock.now()).toUTCString());
    response.set('Cache-Control', 'no-store').set(this.#rateLimit.count(key));
    this.#rateLimit.enforce(key);
    next();
  };

  /** @throws ApiError 401, 403 or 422 */
  user(request: Request, scope: Scope): Caller {
    return authorize(this.#token(request), scope);
  }

  /**
   * For what anybody may see: who no token or an unknown one names is nobody; any other token has to be good.
   * @throws ApiError 401 or 403
   */
  anybody(request: Request, scope: Scope): Token | undefined {
    const token = this.#token(request);
    return token && requireScope(token, scope);
  }

  clear(): void {
    this.#rateLimit.clear();
  }

  #token(request: Request): Token | undefined {
    return tokenOf(request.get('authorization'), this.#tokens);
  }
}
