/** Signs the benchmark's notifications; it protects nothing. */
export const BENCH_SECRET = 'the-benchmark-secret-protects-nothing';
