/** One stage of long work, such as sending; disposing of it ends it. */
export interface Stage extends Disposable {
  /**
   * @param done how many are done
   * @param share how much of the whole that is, in [0, 1]; undefined if unknown
   */
  show(done: number, share: number | undefined): void;
}

/** Takes the progress of a replay. The room prints nothing itself. */
export interface Listener {
  /** whether a user sees the share: counting the whole takes time */
  readonly isWatched: boolean;
  /** Begins a stage. @param verb what happens to each event in it, such as "answered" */
  begin(verb: string): Stage;
  /** Takes a message for a person, of one line or several. */
  say(text: string): void;
}

/** For a replay without a listener. */
export const UNWATCHED: Listener = {
  isWatched: false,
  begin: () => ({ show() {}, [Symbol.dispose]() {} }),
  say() {},
};

/** For a replay that is never interrupted. */
export const UNINTERRUPTED: AbortSignal = new AbortController().signal;

/** So many lines are worth reading; a file that is no recording at all has hundreds of thousands. */
const MOST = 20;

/** Says the first lines of what may be very many, and once that more follow. */
export function firstLines(say: (text: string) => void): (text: string) => void {
  let said = 0;
  return (text) => {
    said++;
    if (said <= MOST) say(text);
    else if (said === MOST + 1) say('more lines like these are counted, and not named');
  };
}
