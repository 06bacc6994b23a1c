/** Where OpenTelemetry's API keeps what an SDK has registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

/** Traces notifications, where an SDK of OpenTelemetry runs in this process (`node --import`); undefined without one: then nothing of OpenTelemetry is loaded. */
export async function tracingOf() {
  const registered: unknown = Reflect.get(globalThis, REGISTERED);
  return Object(registered).trace === undefined ? undefined : await import('./spans.ts');
}
