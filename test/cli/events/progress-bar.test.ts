import { expect, test } from '@jest/globals';
import { ProgressBar } from '../../../src/cli/events/progress-bar.ts';

function shown(isTTY: boolean) {
  let time = 0;
  let text = '';
  const out = {
    isTTY,
    write: (more: string) => {
      text += more;
    },
  };
  const progress = new ProgressBar('exported', out, () => time);
  const after = (ms: number, done: number, share: number | undefined) => {
    time = ms;
    text = '';
    progress.show(done, share);
    return text;
  };
  const end = () => {
    text = '';
    progress.end();
    return text;
  };
  return { after, end };
}

test('shows a bar, the rate and the time left, when stderr is a terminal, ten times a second', () => {
  const { after, end } = shown(true);
  expect(after(2000, 500, 0.25)).toBe(
    '\r\x1b[2K[######..................]  25%  500 exported 250/s, 6 s left',
  );
  expect(after(2050, 510, 0.26)).toBe('');
  expect(after(100_000, 5000, 0.25)).toMatch(/ 50\/s, 5 min 0 s left$/);
  expect(after(7_200_000, 5000, 0.5)).toMatch(/, 2 h 0 min left$/);
  expect(end()).toBe('\r\x1b[2K');
});

test('shows the count and the rate, when the total is unknown', () => {
  expect(shown(true).after(2000, 500, undefined)).toBe('\r\x1b[2K500 exported 250/s');
});

test('shows nothing, when stderr is not a terminal, not even at the end', () => {
  const { after, end } = shown(false);
  expect(after(2000, 500, 0.25) + end()).toBe('');
});
