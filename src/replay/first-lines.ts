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
