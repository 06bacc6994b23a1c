/**
 * For so long after a signal to stop, another one is taken for the same, in milliseconds. A terminal sends Ctrl-C to all processes of a
 * command, and npm and `node --watch` then pass theirs on; so do supervisors that signal a whole group.
 */
export const SAME_SIGNAL_MS = 1000;
