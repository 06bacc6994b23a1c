import { existsSync } from 'node:fs';
import { inspect } from 'node:util';
import { afterAll, describe, jest } from '@jest/globals';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
const FLAGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking ' +
  '--disable-component-update --disable-sync --process-per-site';

const DESK = { width: 1280, height: 720 };

// Each limit is less than the next, so that the error says what the test waited for.
/** For steps to which Playwright gives a limit itself, such as to wait for an element. */
const WAIT_MS = 10_000;
/** For every step. A browser that has hung never answers, and to most steps Playwright gives no limit. */
const STEP_MS = 20_000;
const LAUNCH_MS = 30_000;
const TEST_MS = 60_000;

/** A page, and what went wrong on it. */
export interface Tab {
  /** Its steps end within a limit: see `withLimits`. */
  readonly page: Page;
  /** errors of scripts, and what the page's policy refused */
  readonly complaints: readonly string[];
}

interface OpenTab extends Tab {
  readonly complaints: string[];
}

/** A browser, and its pages by the options that they were opened with. */
interface Running {
  readonly browser: Promise<Browser>;
  readonly open: Map<string, OpenTab>;
  /** Closes it, so that the next tab is opened in another one. */
  readonly leave: () => void;
}

/** `describe`, where there is a browser; else its tests are skipped, and a line says so. */
export function describeInBrowser(name: string, tests: () => void): void {
  jest.setTimeout(TEST_MS);
  if (existsSync(CHROMIUM)) return void describe(name, tests);
  process.stderr.write(`skipped, as there is no ${CHROMIUM} (apt-get install chromium): ${name}\n`);
  describe.skip(name, tests);
}

/**
 * Gives a function that opens a tab. The first one starts the browser, and so does the first one after a browser that has
 * died or hung. To open a page takes longer than most tests, so the tests of a suite share one page for each set of
 * options, and a test has one page. A suite must not depend on what the browser remembers of an earlier test.
 */
export function tabs(): (options?: BrowserContextOptions) => Promise<Tab> {
  let running: Running | undefined;
  const closing: Promise<void>[] = [];
  const leave = (left: Running): void => {
    if (running === left) running = undefined;
    // Playwright kills a browser that does not close within 30 s.
    closing.push(left.browser.then((browser) => browser.close()));
  };
  afterAll(async () => {
    if (running) leave(running);
    await Promise.all(closing);
  });
  const start = (): Running => {
    const started: Running = { browser: launch(), open: new Map(), leave: () => leave(started) };
    return started;
  };
  return async (options = {}) => {
    running ??= start();
    const { open } = running;
    const name = JSON.stringify(options);
    const known = open.get(name);
    if (known) {
      known.complaints.splice(0);
      await known.page.emulateMedia({ colorScheme: null });
      await known.page.setViewportSize(DESK);
      return known;
    }
    const tab = await newTab(running, { viewport: DESK, ...options });
    open.set(name, tab);
    return tab;
  };
}

function launch(): Promise<Browser> {
  // Not with a profile of its own: that opens a window, whose tab strip takes as long to draw as a page.
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS.split(' '), timeout: LAUNCH_MS });
}

async function newTab({ browser, leave }: Running, options: BrowserContextOptions): Promise<OpenTab> {
  const launched = await browser;
  launched.once('disconnected', leave);
  const { newContext } = withLimits(launched, 'browser', leave);
  const { newPage } = withLimits(await newContext(options), 'context', leave);
  const page = withLimits(await newPage(), 'page', leave);
  page.setDefaultTimeout(WAIT_MS);
  page.once('crash', leave);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return { page, complaints };
}

/**
 * Ends the transitions of a page, and those that their ends start. To wait for their ends would take frames: nothing draws
 * what stands in a closed `<details>`, so a transition there may never end, once a script has asked for its style.
 */
export async function endTransitions(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const running = () => document.getAnimations().filter((one) => one instanceof CSSTransition);
    for (let round = 0, left; (left = running()).length > 0; round++) {
      if (round > 100) throw new Error('transitions start again and again: ' + left[0].transitionProperty);
      for (const one of left) one.finish();
    }
  })()`);
}

/**
 * The same object of Playwright, where each step that takes longer than its limit fails with the name of the step.
 * @param onLate called then, as the browser may have hung
 */
function withLimits<T extends object>(object: T, name: string, onLate: () => void): T {
  return new Proxy(object, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member);
      const path = `${name}.${String(member)}`;
      if (member === 'keyboard' || member === 'mouse') return withLimits(Object(value), path, onLate);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        const step = `${path}(${given.map((one) => inspect(one, { maxStringLength: 200 })).join(', ')})`;
        const result: unknown = Reflect.apply(value, target, given);
        if (result instanceof Promise) return withLimit(result, step, onLate);
        return isLocator(result) ? withLimits(result, step, onLate) : result;
      };
    },
  });
}

function isLocator(result: unknown): result is Locator {
  return typeof result === 'object' && result !== null && 'allTextContents' in result;
}

async function withLimit<T>(result: Promise<T>, step: string, onLate: () => void): Promise<T> {
  // Made here, so that its stack leads to the test.
  const error = new Error(`the browser did not end this step within ${STEP_MS / 1000} s: ${step}`);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      onLate();
      reject(error);
    }, STEP_MS);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}
