const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

/** How soon something is done again of which nothing came. */
const AGAIN_MS = 5000;

/** Does something until a check holds: again after a while, or at once where it says that it could not. */
export async function again(act: () => boolean | Promise<boolean>, check: () => boolean): Promise<void> {
  while (!check()) {
    const end = performance.now() + ((await act()) ? AGAIN_MS : 0);
    do await pause();
    while (!check() && performance.now() < end);
  }
}
