import { existsSync } from 'node:fs';
import { afterAll, describe, jest } from '@jest/globals';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
const FLAGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking ' +
  '--disable-component-update --disable-sync --process-per-site';

const DESK = { width: 1280, height: 720 };
// Each limit is less than the next, so that the error says what the test waited for.
const WAIT_MS = 10_000;
const LAUNCH_MS = 30_000;
const TEST_MS = 60_000;

/** A page, and what went wrong on it. */
export interface Tab {
  readonly page: Page;
  /** errors of scripts, and what the page's policy refused */
  readonly complaints: string[];
}

/** `describe`, where there is a browser; else its tests are skipped, and a line says so. */
export function describeInBrowser(name: string, tests: () => void): void {
  jest.setTimeout(TEST_MS);
  if (existsSync(CHROMIUM)) return void describe(name, tests);
  process.stderr.write(`skipped, as there is no ${CHROMIUM} (apt-get install chromium): ${name}\n`);
  describe.skip(name, tests);
}

/**
 * Gives a function that opens a tab. To open a page takes longer than most tests, so the tests of a suite share one page for each
 * set of options. A suite must not depend on what the browser remembers of an earlier test.
 */
export function tabs(): (options?: BrowserContextOptions) => Promise<Tab> {
  let browser: Promise<Browser> | undefined;
  const open = new Map<string, Tab>();
  afterAll(async () => (await browser)?.close());
  return async (options = {}) => {
    // Not with a profile of its own: that opens a window, whose tab strip takes as long to draw as a page.
    browser ??= chromium.launch({ executablePath: CHROMIUM, args: FLAGS.split(' '), timeout: LAUNCH_MS });
    const name = JSON.stringify(options);
    const tab = open.get(name) ?? (await newTab(await browser, options));
    open.set(name, tab);
    tab.complaints.splice(0);
    await tab.page.emulateMedia({ colorScheme: null });
    await tab.page.setViewportSize(DESK);
    return tab;
  };
}

async function newTab(browser: Browser, options: BrowserContextOptions): Promise<Tab> {
  // With less motion, pages have no transitions, which would change colours while a test looks at them.
  const context = await browser.newContext({ viewport: DESK, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return { page, complaints };
}
