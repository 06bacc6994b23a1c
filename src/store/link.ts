/** Operations by name. An operation takes one argument; its output may be a promise. */
export type Operations = Readonly<Record<string, (input: never) => unknown>>;

export type InputOf<O extends Operations, N extends keyof O> = Parameters<O[N]>[0];
export type OutputOf<O extends Operations, N extends keyof O> = Awaited<ReturnType<O[N]>>;

/** The way to a connection, which does one operation a request. */
export interface StoreLink<O extends Operations> {
  request<N extends keyof O & string>(name: N, input: InputOf<O, N>): Promise<OutputOf<O, N>>;
  /** Waits for the requests under way, then closes the database. */
  close(): Promise<void>;
}
