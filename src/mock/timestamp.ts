/** `2024-08-27T00:20:57+00:00`: whole seconds, as in a notification's `event_time`. */
export function wholeSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}+00:00`;
}

/** `2024-08-27T00:20:57.123000+00:00`: as in a resource's `created`. */
export function microseconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000+00:00`;
}
