/** Signs the benchmark's notifications; it protects nothing. */
export const BENCH_SECRET = 'the-benchmark-secret-protects-nothing';

/** SECRETS_KEY: a database that one part of the benchmark has filled is opened by others. */
export const BENCH_SECRETS_KEY = Buffer.alloc(32);
