// The files of prom-client that metrics.ts loads: the package as a whole brings OpenTelemetry, a cluster and HTTP clients with
// it, and doubles the time that all else of the inspector takes to load. Its types are those of the whole.

declare module 'prom-client/lib/counter.js' {
  export { Counter as default } from 'prom-client';
}
declare module 'prom-client/lib/gauge.js' {
  export { Gauge as default } from 'prom-client';
}
declare module 'prom-client/lib/histogram.js' {
  export { Histogram as default } from 'prom-client';
}
declare module 'prom-client/lib/registry.js' {
  export { Registry as default } from 'prom-client';
}
