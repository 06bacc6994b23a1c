/** `2024-08-27T00:20:57+00:00`: whole seconds, as in a notification's `event_time`. */
export function wholeSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}+00:00`;
}

/** A length of time in its two largest units, such as `2 h 5 min`, `5 min 3 s` or `6 s`. */
export function roughly(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
