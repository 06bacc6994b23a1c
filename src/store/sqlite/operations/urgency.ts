/** What a sender waits for. */
export const urgent: ReadonlySet<string> = new Set(['record']);

/**
 * What a power cut may undo: an event that was claimed or settled then runs again, which its handler can tell. A commit
 * of these alone does not wait for the disk. A crash of the process undoes none of it.
 */
export const relaxed: ReadonlySet<string> = new Set(['claim', 'renew', 'settle', 'release', 'step']);

/** What SQLite does outside of transactions only, so that it shares no commit. */
export const alone: ReadonlySet<string> = new Set(['emptyLog', 'rewrite']);
