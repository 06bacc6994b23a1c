import { existsSync } from 'node:fs';
import { afterAll, afterEach, describe } from '@jest/globals';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
const FLAGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking ' +
  '--disable-component-update --disable-sync --process-per-site';

const DESK = { width: 1280, height: 720 };

/** A page, and what went wrong on it. */
export interface Tab {
  readonly page: Page;
  /** errors of scripts, and what the page's policy refused */
  readonly complaints: readonly string[];
}

interface OpenTab extends Tab {
  readonly complaints: string[];
}

/** `describe`, where there is a browser; else its tests are skipped, and a line says so. */
export function describeInBrowser(name: string, tests: () => void): void {
  if (existsSync(CHROMIUM)) return void describe(name, tests);
  process.stderr.write(`skipped, as there is no ${CHROMIUM} (apt-get install chromium): ${name}\n`);
  describe.skip(name, tests);
}

/**
 * Gives a function that opens a tab. The first one starts the browser.
 * @param kept what is kept from test to test of a suite: nothing, or `visitor` for suites in which a reader's browser remembers
 *   nothing that another test sees. To open a page takes longer than most tests, so there each test of a suite goes on
 *   with the one page of its options, and a test has one page.
 */
export function tabs(
  kept: 'nothing' | 'visitor' = 'nothing',
): (options?: BrowserContextOptions) => Promise<Tab> {
  let browser: Promise<Browser> | undefined;
  const open = new Set<BrowserContext>();
  const visitors = new Map<string, OpenTab>();
  afterEach(async () => {
    for (const one of open) await one.close();
    open.clear();
  });
  afterAll(async () => {
    await (await browser)?.close();
  });
  const newTab = async (options: BrowserContextOptions): Promise<OpenTab> => {
    // Not with a profile of its own: that opens a window, whose tab strip takes as long to draw as a page.
    browser ??= chromium.launch({ executablePath: CHROMIUM, args: FLAGS.split(' ') });
    const context = await (await browser).newContext(options);
    if (kept === 'nothing') open.add(context);
    const page = await context.newPage();
    page.setDefaultTimeout(10_000); // less than a test has, so that it says what it waited for
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    return { page, complaints };
  };
  return async (options = {}) => {
    const name = JSON.stringify(options);
    const known = visitors.get(name);
    if (known) {
      known.complaints.splice(0);
      await known.page.emulateMedia({ colorScheme: null });
      await known.page.setViewportSize(DESK);
      return known;
    }
    const tab = await newTab({ viewport: DESK, ...options });
    if (kept === 'visitor') visitors.set(name, tab);
    return tab;
  };
}
