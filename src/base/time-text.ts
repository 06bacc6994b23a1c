/** `2024-08-27T00:20:57+00:00`: whole seconds, as in a notification's `event_time`. */
export function wholeSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}+00:00`;
}
