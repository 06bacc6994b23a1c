/** One stage of long work, such as sending; disposing of it ends it. */
export interface ProgressStage extends Disposable {
  /**
   * @param done how many are done
   * @param share how much of the whole that is, in [0, 1]; undefined if unknown
   */
  show(done: number, share: number | undefined): void;
}

/** Takes the progress of a replay. The room prints nothing itself. */
export interface ReplayListener {
  /** Begins a stage. @param verb what happens to each event in it, such as "answered" */
  begin(verb: string): ProgressStage;
  /** Takes a message for a person, of one line or several. */
  say(text: string): void;
}

/** For a replay without a listener. */
export const UNWATCHED: ReplayListener = {
  begin: () => ({ show() {}, [Symbol.dispose]() {} }),
  say() {},
};

/** For a replay that is never interrupted. */
export const UNINTERRUPTED: AbortSignal = new AbortController().signal;
